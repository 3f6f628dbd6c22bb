"""The canonical event: one row of `events/*.parquet` in `data/records/<supplier>` and `data/clean/<supplier>`."""

from __future__ import annotations

from enum import StrEnum

EVENT_COLUMNS: dict[str, str] = {
    "organisation": "str",
    "system": "str",
    "kind": "str",
    "record_id": "str",
    "seq": "int",
    "event_ts": "ts",
    "recorded_ts": "ts",
    "actor_id": "str",
    "type": "str",
    "field": "str",
    "value_json": "str",
    "text": "str",
    "visibility": "str",
    "source_file": "str",
    "source_pos": "str",
    "ts_text": "str",
    "ts_zone": "str",
    "ts_grain_s": "int",
    "reference": "str",
}
"""Column -> type. `str` is nullable text, `int` a nullable 64-bit integer, `ts` a UTC timestamp with microseconds
(Parquet timestamp[us, tz=UTC]).

organisation   customer organisation that the record belongs to; null where the system does not say
system, kind, record_id   the record, e.g. ("orders", "order", "A-104327")
seq            order within the whole system's export, from its own sequence; ties of event_ts are broken by it; null = unordered
event_ts       when it was true in the world; null is excluded and counted
recorded_ts    when the system knew it; equal to event_ts where a system has one clock
actor_id       who did it ("helpdesk:user:361..."), or null
type           an EventType
field          the field that a create/change sets; null on the row that says that the record exists, and on messages
value_json     JSON text of the field's value; for a link: {"system","kind","record_id"} of the other end, with `field` the
               link's name
text           body of a message, plain text (the raw stays in the export, reachable by source_file and source_pos)
visibility     "public" | "internal" for messages, else null
source_file    path inside the export; in clean data always "vault"
source_pos     "line:17" | "row:orders_history:881" | "member:dialogues/101.json#events/3" | "bytes:2048-4096"; in clean data a
               reference that only the vault resolves
ts_text, ts_zone   the time's original text and declared zone (null in clean data)
ts_grain_s     grain of event_ts in seconds (0 exact, 60 minute, 86400 day): the event lies in [event_ts, event_ts + grain)
reference      id of the case on whose account a write was made (for a refund: the ticket's record_id), or null
"""


class EventType(StrEnum):
    create = "create"
    change = "change"
    message = "message"
    link = "link"
    delete = "delete"


RECORD_COLUMNS: dict[str, str] = {
    "system": "str",
    "kind": "str",
    "record_id": "str",
    "organisation": "str",
    "opened_ts": "ts",
    "opening_seq": "int",
    "closed_ts": "ts",
    "outcome_code": "str",
}
LINK_COLUMNS: dict[str, str] = {
    "left_system": "str",
    "left_kind": "str",
    "left_id": "str",
    "name": "str",
    "right_system": "str",
    "right_kind": "str",
    "right_id": "str",
    "event_ts": "ts",
    "recorded_ts": "ts",
    "source_file": "str",
    "source_pos": "str",
}
POLICY_COLUMNS: dict[str, str] = {
    "document": "str",
    "version": "int",
    "title": "str",
    "clause": "str",
    "text": "str",
    "published_ts": "ts",
    "in_force_from": "ts",
    "in_force_to": "ts",
    "source_file": "str",
    "source_pos": "str",
}
"""One row a numbered clause; in_force_from/to are half-open instants (a day-grain date starts at 00:00 in the supplier's
zone); to = null: still in force."""
QUARANTINE_COLUMNS: dict[str, str] = {
    "source": "str",
    "source_file": "str",
    "source_pos": "str",
    "field": "str",
    "reason": "str",
    "found": "str",
    "allowed": "str",
}
"""`found` holds a type or a code, never text of a person (it may be shown in reports)."""
