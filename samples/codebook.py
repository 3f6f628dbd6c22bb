"""The supplier's code book: what each field is, when it is known, what each outcome code means."""

from __future__ import annotations

from samples.cases import CASES
from schemas.records import CodeBook, FieldRule, FieldType, KnownAt, OutcomeCode

SUPPLIER = "sample"
LABELS = {
    "refund_granted": "Refund granted", "refund_refused_not_late": "Refund refused: not late",
    "refund_refused_window": "Refund refused: too late",
    "refund_refused_single_charge": "Refund refused: charged once", "refund_refused_approval": "Refund refused: not approved",
    "order_cancelled": "Order cancelled", "cancel_refused_shipped": "Cancellation refused: too far along",
    "address_changed": "Address changed", "address_refused_shipped": "Address change refused: shipped",
    "address_refused_identity": "Address change refused: identity", "exchange_created": "Exchange created",
    "exchange_refused_window": "Exchange refused: too late", "exchange_refused_final_sale": "Exchange refused: final sale",
    "access_restored": "Access restored", "access_refused_identity": "Access refused: identity",
    "credit_granted": "Credit granted",
    "credit_refused_recent": "Credit refused: recent credit",
}  # fmt: skip
START: dict[str, FieldType] = {
    "subject": "text",
    "requester_id": "id",
    "organisation": "id",
    "organization_id": "id",
    "submitter_id": "id",
}
POST_HOC: dict[str, FieldType] = {
    "tags": "tags", "status": "code", "assignee": "id", "assignee_id": "id", "resolution_code": "code", "about_record": "id",
    "request_kind": "code", "priority": "code", "type": "code", "group_id": "id", "brand_id": "id", "satisfaction": "code",
    "satisfaction_score": "code", "satisfaction_comment": "text", "satisfaction_rating": "json",
}  # fmt: skip
_SPANS = ("reply_time", "first_resolution_time", "full_resolution_time", "agent_wait_time", "requester_wait_time", "on_hold_time")
METRICS: dict[str, FieldType] = {
    **dict.fromkeys(("group_stations", "assignee_stations", "reopens", "replies"), "int"),
    **dict.fromkeys(
        (
            *("assignee_updated_at", "requester_updated_at", "status_updated_at", "initially_assigned_at", "assigned_at"),
            *("solved_at", "latest_comment_added_at", "custom_status_updated_at"),
        ),
        "time",
    ),
    **{f"{span}_in_minutes_{clock}": "int" for span in _SPANS for clock in ("calendar", "business")},
    "ticket_id": "id",
}
RATING: dict[str, FieldType] = {
    "score": "code", "comment": "text", "reason": "text", "ticket_id": "id", "assignee_id": "id", "requester_id": "id",
    "group_id": "id",
}  # fmt: skip
USER: dict[str, FieldType] = {
    "name": "name", "email": "email", "phone": "phone", "role": "code", "organisation": "id", "organization_id": "id",
    "created_at": "time",
}  # fmt: skip
ORDER_SIDE: dict[str, dict[str, FieldType]] = {
    "accounts.account": {
        "organisation": "id", "holder_name": "name", "email": "email", "phone": "phone", "billing_address": "address",
        "billing_postcode": "postcode", "tier": "code", "status": "code", "opened_at": "time", "risk_note": "text",
    },
    "accounts.credit": {"account_id": "id", "amount_minor": "money", "reason": "code", "created_at": "time"},
    "orders.order": {
        "account_id": "id", "status": "code", "total_minor": "money", "shipping_minor": "money", "ship_to": "address",
        "placed_at": "time",
        "promised_at": "time", "delivered_at": "time",
    },
    "orders.line": {
        "order_id": "id", "sku": "code", "product": "code", "quantity": "int", "unit_minor": "money", "final_sale": "bool",
    },
    "orders.shipment": {"order_id": "id", "carrier": "code", "status": "code", "shipped_at": "time", "delivered_at": "time"},
    "orders.exchange": {"order_id": "id", "line_id": "id", "new_sku": "code", "created_at": "time"},
    "payments.payment": {"order_id": "id", "amount_minor": "money", "status": "code", "captured_at": "time"},
    "payments.refund": {"order_id": "id", "amount_minor": "money", "reason": "code", "created_at": "time"},
    "approvals.approval": {"about": "id", "amount_minor": "money", "decision": "code", "requested_at": "time",
    "decided_at": "time"},
}  # fmt: skip
IDENTITY = {
    "account_id": "account", "order_id": "order", "line_id": "line", "organisation": "organisation",
    "organization_id": "organisation",
    "requester_id": "person", "submitter_id": "person", "assignee": "person", "assignee_id": "person", "group_id": "group",
    "brand_id": "brand", "about": "order", "ticket_id": "ticket", "about_record": "record", "external_id": "organisation",
}  # fmt: skip
CODES: dict[str, list[str]] = {
    "helpdesk.ticket.status": ["new", "open", "pending", "hold", "solved", "closed", "deleted"],
    "helpdesk.ticket.request_kind": [*CASES, "question"],
    "helpdesk.ticket.priority": ["low", "normal", "high", "urgent"],
    "helpdesk.user.role": ["end-user", "agent", "admin"],
    "helpdesk.rating.score": ["good", "bad", "offered", "unoffered"],
    "accounts.account.tier": ["standard", "gold", "platinum"],
    "accounts.account.status": ["active", "locked"],
    "accounts.credit.reason": ["goodwill", "service_recovery"],
    "orders.order.status": ["placed", "packed", "shipped", "delivered", "cancelled"],
    "orders.shipment.status": ["in_transit", "delivered"],
    "payments.payment.status": ["authorised", "captured", "failed", "voided"],
    "payments.refund.reason": ["late_delivery", "damaged_item", "double_charge"],
    "approvals.approval.decision": ["approved", "denied"],
}


def code_book() -> CodeBook:
    """The code book as it goes into the export."""
    fields: dict[str, FieldRule] = {}

    def add(key: str, kind: FieldType, known: KnownAt, *, planned: bool = False) -> None:
        identity = IDENTITY[key.rsplit(".", 1)[1]] if kind == "id" else None
        fields[key] = FieldRule(type=kind, identity=identity, known_at=known, planned_future=planned)

    helpdesk: tuple[tuple[str, dict[str, FieldType], KnownAt], ...] = (
        ("ticket", START, "start"),
        ("ticket", POST_HOC, "post_hoc"),
        ("metric", METRICS, "post_hoc"),
        ("rating", RATING, "post_hoc"),
        ("user", USER, "static"),
        ("organization", {"name": "name", "external_id": "id", "domain_names": "json"}, "static"),
    )
    for record, names, known in helpdesk:
        for name, kind in names.items():
            add(f"helpdesk.{record}.{name}", kind, known)
    for group, columns in ORDER_SIDE.items():
        for name, kind in columns.items():
            never = name == "risk_note"
            add(f"{group}.{name}", kind, "never" if never else "history", planned=name == "promised_at")
    outcomes = {
        code: OutcomeCode(workflow=module.KIND, outcome_class="grant" if code == module.GRANT else "refuse", label=LABELS[code])
        for module in CASES.values()
        for _, code, _ in module.TARGETS
    }
    codes = {**CODES, "helpdesk.ticket.resolution_code": sorted(outcomes)}
    return CodeBook(supplier=SUPPLIER, fields=fields, outcomes=outcomes, codes=codes)
