"""The rows of a Zendesk export as its API documents them: closed types, with the documented keys that nobody reads named."""

from __future__ import annotations

from typing import Any

from ingest.decode import strict_type

TICKET_UNUSED = """
url external_id via type subject raw_subject description priority recipient requester_id submitter_id assignee_id group_id
collaborator_ids follower_ids email_cc_ids forum_topic_id problem_id has_incidents is_public due_at tags custom_fields fields
satisfaction_rating sharing_agreement_ids custom_status_id encoded_id followup_ids ticket_form_id brand_id allow_channelback
allow_attachments from_messaging_channel generated_timestamp result_type support_type metric_set dates metric_events slas
comment_count deleted_ticket_form_id ticket_form_name email_cc_names external_ids
"""
Ticket = strict_type(
    "Ticket",
    {"id": int, "created_at": str},
    {"updated_at": str | None, "status": str | None, "organization_id": int | None},
    TICKET_UNUSED,
)
Audit = strict_type(
    "Audit",
    {"id": int, "ticket_id": int, "created_at": str, "events": list[dict[str, Any]]},
    {"author_id": int | None, "via": dict[str, Any] | None},
    "url metadata",
)
AuditComment = strict_type(
    "AuditComment",
    {"type": str, "public": bool},
    {
        "id": int | None,
        "author_id": int | None,
        "body": str | None,
        "html_body": str | None,
        "plain_body": str | None,
    },
    "attachments audit_id via metadata created_at trusted formatted_from data",
)
AuditField = strict_type(
    "AuditField", {"type": str, "field_name": str, "value": Any}, {"id": int | None, "previous_value": Any}, "via audit_id"
)
USER_FIELDS = """
url name email time_zone iana_time_zone phone shared_phone_number photo locale_id locale role verified external_id tags alias
active shared shared_agent last_login_at two_factor_auth_enabled signature details notes role_type custom_role_id moderator
ticket_restriction only_private_comments restricted_agent suspended default_group_id report_csv user_fields permanently_deleted
chat_only is_billing_admin remote_photo_url identities
"""
User = strict_type("User", {"id": int, "created_at": str}, {"updated_at": str | None, "organization_id": int | None}, USER_FIELDS)
Organization = strict_type(
    "Organization",
    {"id": int, "created_at": str},
    {"updated_at": str | None, "external_id": str | None},
    "url name shared_tickets shared_comments domain_names details notes group_id tags organization_fields deleted_at",
)
METRIC_FIELDS = """
url group_stations assignee_stations reopens replies assignee_updated_at requester_updated_at status_updated_at
initially_assigned_at assigned_at solved_at latest_comment_added_at custom_status_updated_at reply_time_in_minutes
reply_time_in_seconds first_resolution_time_in_minutes full_resolution_time_in_minutes agent_wait_time_in_minutes
requester_wait_time_in_minutes on_hold_time_in_minutes
"""
Metric = strict_type("Metric", {"id": int, "ticket_id": int, "created_at": str}, {"updated_at": str | None}, METRIC_FIELDS)
Rating = strict_type(
    "Rating",
    {"id": int, "ticket_id": int, "created_at": str},
    {"updated_at": str | None},
    "url requester_id assignee_id group_id score comment comment_id reason reason_id reason_code",
)
PAGES: dict[str, tuple[type[Any], str]] = {
    "tickets": (Ticket, "ticket"),
    "ticket_audits": (Audit, "audit"),
    "users": (User, "user"),
    "organizations": (Organization, "organization"),
    "ticket_metrics": (Metric, "metric"),
    "satisfaction_ratings": (Rating, "rating"),
}
"""Name of a page without its number -> (row type, kind)."""

_UNUSED_EVENTS = """
AgentMacroReference AssociateAttValsEvent AttachmentRedactionEvent Cc CollaborationThreadCreated CollaborationThreadEvent
CollaborationThreadReply ChannelBackFailedEvent ChatStartedEvent ChatEndedEvent ChatFileAttachment CommentPrivacyChange
CommentRedactionEvent EmailCcChange Error External FacebookComment FacebookEvent FollowerChange FollowerNotificationEvent
KnowledgeCaptured KnowledgeFlagged KnowledgeLinkAccepted KnowledgeLinked KnowledgeLinkRejected LogMeInTranscript
MacroReference MessagingCsatEvent Notification NotificationWithCcs OrganizationActivity
OrganizationSubscriptionNotificationEvent Push SatisfactionRating ScheduleAssignment SlaTargetChange SMS
SuspendedTicketRecovery TicketSharingEvent TicketUnshareEvent TpeVoiceComment TranslationChange Tweet UserCustomFieldEvent
VoiceComment WebhookEvent WorkspaceChanged
"""
UNUSED_EVENTS = frozenset(_UNUSED_EVENTS.split())
"""Audit event types of the API that hold no field and no message to the requester: left out and counted."""
