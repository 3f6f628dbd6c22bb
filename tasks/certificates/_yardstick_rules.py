"""What every form of every rule must say at its edges, and which parameters it must refuse (see _yardstick)."""
# ruff: noqa: E501 - what is given and what is right of it stand on one line

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewards.path import broken_at, compile_rule, rules_by_tool
from rewards.view import JournalView
from schemas.episode import JournalEntry, RowChange, RowRef, ToolCall
from schemas.errors import GraderError
from schemas.task import Fact, RuleRef

Row = dict[str, Any]
AT = "2025-03-22T09:00:00Z"
ORDER = {"argument": "order", "system": "s", "kind": "order"}
TIER = {**ORDER, "field": "account", "then": {"system": "s", "kind": "account", "field": "tier"}}
ACT = {"tool": "act"}
REQUEST = ("A table", "Friday for 3, parking would be fine: we are parking two cars")
BASE: dict[str, dict[str, dict[str, Row]]] = {
    "s": {
        "order": {
            "A": {"account": "C", "status": "open", "due": "2025-03-10T12:00:00Z", "came": "2025-03-13T12:00:00Z", "worth": 50},
            "B": {"account": "D", "status": "shut", "due": "2025-03-10T12:00:00Z", "came": "2025-03-13T12:00:01Z", "worth": None},
            "N": {"account": None, "status": None, "due": None, "came": None},
            "X": {"account": "nobody"},
        },
        "account": {"C": {"tier": "gold"}, "D": {"tier": "new"}},
        "line": {
            "1": {"order": "A", "count": 2, "price": 10, "type": "goods"},
            "2": {"order": "A", "count": 4, "price": 5, "type": "goods"},
            "3": {"order": "A", "count": 1, "price": 7, "type": "goods"},
            "4": {"order": "B", "count": 1, "price": 9, "type": "goods"},
            "5": {"order": "A", "count": None, "price": 3, "type": "goods"},
            "6": {"order": "A", "count": 1, "price": 3, "type": "other"},
        },
        "credit": {
            "old": {"account": "C", "at": "2025-03-12T08:59:59Z"},
            "edge": {"account": "D", "at": "2025-03-12T09:00:00Z"},
            "unknown": {"account": "E", "at": None},
        },
    }
}


def _call(tool: str, *, ok: bool = True, result: Any = None, changes: Sequence[RowChange] = (), **arguments: Any) -> JournalEntry:
    told = tuple(arguments.pop("told", ()))
    call = ToolCall(tool=tool, arguments=arguments)
    return JournalEntry(step=0, call=call, ok=ok, result=result, changes=tuple(changes), told=told, clock=AT)


def said(rule: str, parameters: Row, entries: Sequence[JournalEntry], facts: Mapping[str, Fact] | None = None) -> Any:
    """(records that the violations of the last call show, one tuple each), or "GraderError"."""
    try:
        refs = (RuleRef(id="r", rule=rule, sentence="", parameters={**ACT, **parameters}),)
        view = JournalView(
            BASE, AT, facts=facts or {}, opening=frozenset({"A1", "words", "ORDER_0000000A", "NAME_0000000A"}), request=REQUEST
        )
        rules = rules_by_tool(refs)
        found = [broken_at(rules, view, view.append(entry)) for entry in entries][-1]
    except GraderError:
        return "GraderError"
    return [(*(ref.record_id for ref in v.evidence),) for v in found]


def rule_measures() -> Iterator[tuple[str, Any, Any]]:
    for rows in (_limit(), _approval(), _exact(), _forbidden(), _times(), _required(), _state()):
        for name, rule, parameters, entries, right in rows:
            yield f"{rule}: {name}", said(rule, parameters, entries), right
    yield from _told()
    yield from _shown()
    yield from _refused_parameters()
    yield from _view()


Case = tuple[str, str, Row, Sequence[JournalEntry], Any]


def _limit() -> Iterator[Case]:
    right: Any
    fixed: Row = {"argument": "amount", "max": 50}
    for amount, right in ((50, []), (51, [()]), (0, []), (True, "GraderError"), ("5", "GraderError"), (None, "GraderError")):
        yield f"{amount!r} of at most 50", "limit", fixed, [_call("act", order="A", amount=amount)], right
    looked: Row = {"argument": "amount", "max": {**ORDER, "field": "worth"}}
    for order, amount, right in (
        ("A", 50, []),
        ("A", 51, [("A",)]),
        ("B", 1, [("B",)]),
        ("Z", 1, [("Z",)]),
        (None, 1, [("(none)",)]),
    ):
        yield f"{amount} for {order}", "limit", looked, [_call("act", order=order, amount=amount)], right
    yield (
        "a limit that is text",
        "limit",
        {"argument": "amount", "max": {**ORDER, "field": "status"}},
        [_call("act", order="A", amount=1)],
        "GraderError",
    )
    table: Row = {"argument": "amount", "limits": {"gold": 20}, "by": TIER}
    for order, amount, right in (("A", 20, []), ("A", 21, [("A", "C")]), ("B", 1, [("D",)])):
        yield f"table: {amount} for {order}", "limit", table, [_call("act", order=order, amount=amount)], right
    yield "table: nobody's order", "limit", table, [_call("act", order="N", amount=1)], [("N",)]
    when: Row = {**fixed, "when": {"why": ["x", 1]}}
    for why, right in (("x", [()]), (1, [()]), ("y", []), (True, [])):
        yield f"under a condition, {why!r}", "limit", when, [_call("act", amount=51, why=why)], right
    yield "under a condition that is not given", "limit", when, [_call("act", amount=51)], []
    rows: Row = {"count": 1, "days": 10, "rows": {"system": "s", "kind": "credit", "match": "account", "time": "at"}}
    for account, right in (("C", []), ("D", [("edge",)]), ("E", [("unknown",)]), ("F", [])):
        yield f"earlier acts of {account}", "limit", rows, [_call("act", account=account)], right
    made = RowChange(system="s", kind="credit", op="create", record_id="n", fields={"account": "F", "at": "2001-01-01T00:00:00Z"})
    first = _call("act", account="F", changes=[made])
    yield "a second act of this episode, whatever its time", "limit", rows, [first, _call("act", account="F")], [("n",)]
    yield "two are allowed", "limit", {**rows, "count": 2}, [first, _call("act", account="F")], []


def _approval() -> Iterator[Case]:
    right: Any
    fixed: Row = {"argument": "amount", "about": "order", "above": 10}
    act = _call("act", order="A", amount=20)

    def asked(about: Any = "A", amount: Any = 20, decision: str = "approved", **more: Any) -> JournalEntry:
        return _call("request_approval", about=about, amount_minor=amount, result={"decision": decision}, **more)

    cases: tuple[tuple[str, Sequence[JournalEntry], Any], ...] = (
        ("at the limit", [_call("act", order="A", amount=10)], []), ("above it", [act], [()]), ("approved", [asked(), act], []),
        ("approved for more", [asked(amount=21), act], []), ("approved for less", [asked(amount=19), act], [()]),
        ("approved for another", [asked("B"), act], [()]), ("denied", [asked(decision="denied"), act], [()]),
        ("an approval that was refused", [asked(ok=False), act], [()]), ("an amount in words", [asked(amount="20"), act], [()]),
        ("no amount", [_call("act", order="A", amount="x")], "GraderError"), ("true", [_call("act", amount=True)], "GraderError"),
        ("approved for the order before", [asked(), _call("act", order="B", amount=20)], [()]),
        ("a result that is no decision", [_call("request_approval", about="A", amount_minor=20, result="approved"), act], [()]),
        ("the second of two approvals", [asked(amount=1), asked(), act], []),
    )  # fmt: skip
    for name, entries, right in cases:
        yield name, "approval", fixed, entries, right
    yield "zero", "approval", {**fixed, "above": 0}, [_call("act", order="A", amount=1)], [()]
    table: Row = {**fixed, "above": {"gold": 20}, "by": TIER}
    for order, amount, right in (
        ("A", 20, []),
        ("A", 21, [("A", "C")]),
        ("B", 1, [("D",)]),
        ("N", 1, [("N",)]),
        ("Z", 1, [("Z",)]),
    ):
        yield f"table: {amount} for {order}", "approval", table, [_call("act", order=order, amount=amount)], right
    other: Row = {**fixed, "when": {"why": ["x"]}}
    yield "under another condition", "approval", other, [act], []


def _exact() -> Iterator[Case]:
    right: Any
    field: Row = {"argument": "amount", "field": {**ORDER, "field": "worth"}}
    for order, amount, right in (("A", 50, []), ("A", 49, [("A",)]), ("A", 51, [("A",)]), ("B", 0, [("B",)]), ("Z", 1, [("Z",)])):
        yield f"{amount} for {order}", "exact", field, [_call("act", order=order, amount=amount)], right
    text: Row = {"argument": "amount", "field": {**ORDER, "field": "status"}}
    yield "a field that is text", "exact", text, [_call("act", order="A", amount=1)], "GraderError"
    yield "true", "exact", field, [_call("act", order="A", amount=True)], "GraderError"
    table: Row = {"argument": "amount", "amounts": {"gold": 7}, "by": TIER}
    for order, amount, right in (("A", 7, []), ("A", 8, [("A", "C")]), ("B", 7, [("D",)]), ("N", 7, [("N",)])):
        yield f"table: {amount} for {order}", "exact", table, [_call("act", order=order, amount=amount)], right
    rows: Row = {"system": "s", "kind": "line", "match": "order", "where": {"type": ["goods"]}, "factors": ["count", "price"]}
    two: Row = {"argument": "amount", "rows": {**rows, "at_least": 2}}
    one: Row = {"argument": "amount", "rows": rows}
    for name, parameters, order, amount, right in (
        ("two lines give it", two, "A", 20, []), ("one line gives it", two, "A", 7, [("1", "2", "3")]),
        ("one is enough", one, "A", 7, []), ("none gives it", one, "A", 3, [("1", "2", "3")]),
        ("of another order", one, "A", 9, [("1", "2", "3")]), ("of this order", one, "B", 9, []),
        ("no line", one, "N", 9, [("(none with order N)",)]),
    ):  # fmt: skip
        yield name, "exact", parameters, [_call("act", order=order, amount=amount)], right
    when: Row = {**one, "when": {"why": ["x"]}}
    yield "under another condition", "exact", when, [_call("act", order="A", amount=3)], []


def _forbidden() -> Iterator[Case]:
    yield "always", "forbidden", {}, [_call("act")], [()]
    yield "under a condition", "forbidden", {"when": {"why": ["x"]}}, [_call("act", why="x")], [()]
    yield "under another", "forbidden", {"when": {"why": ["x"]}}, [_call("act", why="y")], []
    state: Row = {"state": {**ORDER, "field": "status"}, "values": ["lost", "shut"]}
    for order, right in (("A", []), ("B", [("B",)]), ("N", [("N",)]), ("Z", [("Z",)])):
        yield f"while {order} is shut", "forbidden", state, [_call("act", order=order)], right
    far: Row = {"state": TIER, "values": ["new"]}
    yield "a record further on", "forbidden", far, [_call("act", order="B")], [("B", "D")]
    yield "a record further on that is not known", "forbidden", far, [_call("act", order="N")], [("N",)]
    yield "a record further on that is not there", "forbidden", far, [_call("act", order="X")], [("nobody",)]
    two: Row = {
        "state": {**ORDER, "field": "account", "then": {"system": "s", "kind": "account", "field": "none"}},
        "values": ["x"],
    }
    yield "a field further on that is not set", "forbidden", two, [_call("act", order="A")], [("C",)]
    yield "a call that was refused", "forbidden", {}, [_call("act", ok=False)], []


def _times() -> Iterator[Case]:
    right: Any
    since: Row = {**ORDER, "field": "came"}
    for days, order, right in ((9, "A", []), (8, "A", [("A",)]), (8, "N", []), (8, "Z", [("Z",)]), (8, "B", [("B",)])):
        yield f"{days} days after {order} came", "window", {"days": days, "since": since}, [_call("act", order=order)], right
    exactly: Row = {"days": 12, "since": {**ORDER, "field": "due"}}
    yield "within", "window", exactly, [_call("act", order="A")], []
    at: Row = {"days": 1, "since": {**ORDER, "field": "set"}}
    for text, right in (("2025-03-21T09:00:00Z", []), ("2025-03-21T08:59:59Z", [("A",)]), ("2025-03-22", []), ("no time", "GraderError"),
                        (5, "GraderError"), ("2025-03-21T10:00:00+01:00", []), ("2025-03-21T09:30:00+01:00", [("A",)])):  # fmt: skip
        change = RowChange(system="s", kind="order", op="update", record_id="A", fields={"set": text})
        yield f"since {text}", "window", at, [_call("other", changes=[change]), _call("act", order="A")], right
    yield "under another condition", "window", {**exactly, "days": 0, "when": {"why": ["x"]}}, [_call("act", order="A")], []
    late: Row = {"days": 3, "due": {**ORDER, "field": "due"}, "came": {**ORDER, "field": "came"}}
    for order, right in (("A", [("A",)]), ("B", []), ("N", [("N",)]), ("Z", [("Z",)])):
        yield f"{order} came late", "overdue", late, [_call("act", order=order)], right
    yield "came late under another condition", "overdue", {**late, "when": {"why": ["x"]}}, [_call("act", order="A")], []
    cross: Row = {**late, "came": {**ORDER, "argument": "other", "field": "came"}}
    yield "both records are shown", "overdue", cross, [_call("act", order="A", other="A")], [("A",)]
    yield "of two orders", "overdue", {**cross, "days": 4}, [_call("act", order="A", other="B")], [("A", "B")]


def _required() -> Iterator[Case]:
    act = _call("act", order="A")
    need: Row = {"tools": ["look", "see"], "same": {"id": "order"}}
    one: Row = {"needs": [need]}
    cases: tuple[tuple[str, Row, Sequence[JournalEntry], Any], ...] = (
        ("nothing before", one, [act], [()]), ("looked at", one, [_call("look", id="A"), act], []),
        ("seen", one, [_call("see", id="A"), act], []), ("another", one, [_call("look", id="B"), act], [()]),
        ("by another tool", one, [_call("hear", id="A"), act], [()]), ("refused", one, [_call("look", ok=False, id="A"), act], [()]),
        ("another first", one, [_call("look", id="B"), _call("look", id="A"), act], []),
        ("under another condition", {**one, "when": {"why": ["x"]}}, [act], []),
    )  # fmt: skip
    for name, parameters, entries, right in cases:
        yield name, "required_before", parameters, entries, right
    far: Row = {"needs": [{"tools": ["look"], "same": {"id": {**ORDER, "field": "account"}}}]}
    for record, right in (("C", []), ("A", [("A",)])):
        yield f"the account, {record}", "required_before", far, [_call("look", id=record), act], right
    yield "no such order", "required_before", far, [_call("act", order="Z")], [("Z",)]
    both: Row = {"needs": [*far["needs"], need]}
    yield "both needs", "required_before", both, [act], [("A",), ()]
    yield "one of two needs", "required_before", both, [_call("look", id="C"), act], [()]
    yield "no such order and another need", "required_before", both, [_call("act", order="Z")], [("Z",), ()]
    back: Row = {"needs": [{**need, "returned": {"fine": True, "n": 1}}]}
    for result, right in (
        ({"fine": True, "n": 1}, []), ({"fine": False, "n": 1}, [()]), ({"fine": 1, "n": 1}, [()]), ({"fine": True}, [()]),
        ({"fine": True, "n": 2}, [()]), ("fine", [()]), (None, [()]),
    ):  # fmt: skip
        yield f"returned {result!r}", "required_before", back, [_call("look", id="A", result=result), act], right
    nothing = _call("look", id="A", result={"result": "no_record"})
    yield "a look that found nothing", "required_before", {"needs": [need]}, [nothing, act], [()]
    read = nothing.model_copy(update={"reads": (RowRef(system="s", kind="order", record_id="A"),)})
    yield "a look at a record that says so", "required_before", {"needs": [need]}, [read, act], []
    null: Row = {"needs": [{**need, "returned": {"none": None}}]}
    yield "what was not returned is not null", "required_before", null, [_call("look", id="A", result={}), act], [()]
    yield "null", "required_before", null, [_call("look", id="A", result={"none": None}), act], []


def _state() -> Iterator[Case]:
    """Rules see what earlier calls wrote, and not what the judged call writes."""
    state: Row = {"state": {**ORDER, "field": "status"}, "values": ["shut"]}
    shut = RowChange(system="s", kind="order", op="update", record_id="A", fields={"status": "shut"})
    opened = shut.model_copy(update={"fields": {"status": "open"}})
    gone = RowChange(system="s", kind="order", op="delete", record_id="A", fields={})
    made = RowChange(system="s", kind="order", op="create", record_id="M", fields={"status": "shut"})
    act = _call("act", order="A")
    cases: tuple[tuple[str, Sequence[JournalEntry], Any], ...] = (
        ("shut before", [_call("other", changes=[shut]), act], [("A",)]),
        ("shut by a refused call", [_call("other", ok=False, changes=[shut]), act], []),
        ("shut by the act", [_call("act", order="A", changes=[shut])], []),
        ("shut and opened", [_call("other", changes=[shut]), _call("other", changes=[opened]), act], []),
        ("shut and opened by one call", [_call("other", changes=[shut, opened]), act], []),
        ("deleted", [_call("other", changes=[gone]), act], [("A",)]),
        ("deleted and written again", [_call("other", changes=[gone]), _call("other", changes=[opened]), act], []),
        ("made before", [_call("other", changes=[made]), _call("act", order="M")], [("M",)]),
        ("another made before", [_call("other", changes=[made]), act], []),
    )
    for name, entries, right in cases:
        yield name, "forbidden", state, entries, right
    rows: Row = {"argument": "amount", "rows": {"system": "s", "kind": "line", "match": "order", "factors": ["count", "price"]}}
    line = RowChange(system="s", kind="line", op="create", record_id="9", fields={"order": "B", "count": 3, "price": 4})
    changed = RowChange(system="s", kind="line", op="update", record_id="4", fields={"count": 2})
    dropped = RowChange(system="s", kind="line", op="delete", record_id="4", fields={})
    for name, changes, amount, right in (
        ("a line that was made", [line], 12, []), ("a line that was changed", [changed], 18, []),
        ("a line that is gone", [dropped], 9, [("(none with order B)",)]), ("a line as it was", [changed], 9, [("4",)]),
        ("a line made and gone", [line, line.model_copy(update={"op": "delete", "fields": {}})], 12, [("4",)]),
    ):  # fmt: skip
        yield name, "exact", rows, [_call("other", changes=changes), _call("act", order="B", amount=amount)], right
    own = [_call("act", order="B", amount=12, changes=[line])]
    yield "a line that the act itself makes", "exact", rows, own, [("4",)]


def _told() -> Iterator[tuple[str, Any, Any]]:
    """Values that the requester said: in a fact told by then, else as a word of the opening."""
    facts = {
        "f": Fact(id="f", slots=("code",), answer="12", values={"code": "12"}),
        "g": Fact(id="g", slots=("zip",), answer="77", values={"zip": "77"}),
    }
    parameters: Row = {"needs": [{"tools": ["check"], "told": {"given": "code"}}]}
    tell, tell_zip = _call("ask", told=("f",)), _call("ask", told=("g",))
    cases: tuple[tuple[str, Sequence[JournalEntry], Any], ...] = (
        ("told", [tell, _call("check", given="12"), _call("act")], []),
        ("told as a number", [tell, _call("check", given=12), _call("act")], []),
        ("another value", [tell, _call("check", given="13"), _call("act")], [()]),
        ("not told", [_call("check", given="12"), _call("act")], [()]),
        ("told too late", [_call("check", given="12"), tell, _call("act")], [()]),
        ("told by the check itself", [_call("check", given="12", told=("f",)), _call("act")], [()]),
        ("another slot", [tell_zip, _call("check", given="77"), _call("act")], [()]),
        ("a fact that nobody has", [_call("ask", told=("x",)), _call("check", given="12"), _call("act")], [()]),
    )
    for name, entries, right in cases:
        yield f"required_before: {name}", said("required_before", parameters, entries, facts), right
    for slot, value, right in (
        ("order", "A1", []), ("order", "words", [()]), ("order", "A2", [()]), ("order", "ORDER_0000000A", []),
        ("order", "NAME_0000000A", [()]), ("name", "NAME_0000000A", []),
    ):  # fmt: skip
        wanted: Row = {"needs": [{"tools": ["check"], "told": {"given": slot}}]}
        found = said("required_before", wanted, [_call("check", given=value), _call("act")], facts)
        yield f"required_before: {value} of the opening as {slot}", found, right


def _shown() -> Iterator[tuple[str, Any, Any]]:
    """Values that nobody said or showed before the call are guesses; others are judged by no `shown_before` rule."""
    days = ["Thursday", "Friday", "Saturday"]
    hours = [f"{n} {half}" for half in ("am", "pm") for n in (12, *range(1, 12))]
    lists: Row = {"listed": {"day": days, "start": hours, "end": hours, "fee": ["Yes", "No"]}, "asked_by": {"fee": ["fee"]},
                  "unknown": {"fee": "No"}, "numbers": ["size"]}  # fmt: skip

    def says(words: str, question: str = "Well?") -> JournalEntry:
        return _call("reply_to_requester", text=question, result={"requester": words})

    fee = "Is the fee paid?"
    made = RowChange(system="s", kind="order", op="create", record_id="M", fields={"day": "Thursday"})
    cases: tuple[tuple[str, Sequence[JournalEntry], Any], ...] = (
        ("in the request", [_call("act", day="Friday", size=3)], []),
        ("nowhere", [_call("act", day="Thursday")], [()]),
        ("a number nowhere", [_call("act", size=4)], [()]),
        ("nowhere, and written", [_call("act", day="Thursday", changes=[made])], [("M",)]),
        ("said", [says("Thursday, 4 of us"), _call("act", day="Thursday", size=4)], []),
        ("said too late", [_call("act", day="Thursday"), says("Thursday"), _call("act", day="Friday")], []),
        ("of a look-up", [_call("look", result={"free": "Saturday"}), _call("act", day="Saturday")], []),
        ("by the name of a field", [_call("look", result={"Saturday": 1}), _call("act", day="Saturday")], [()]),
        ("of a refused call", [_call("look", ok=False, day="Saturday"), _call("act", day="Saturday")], [()]),
        ("by the agent's own words", [says("Yes.", "Saturday?"), _call("act", day="Saturday")], [()]),
        ("another argument", [_call("act", code="free", about="X")], []),
        ("an hour in other words", [says("at 17:00"), _call("act", start="5 pm")], []),
        ("an hour of two", [says("at 5"), _call("act", start="5 pm")], [()]),
        ("an end by its length", [says("two hours from 5 pm"), _call("act", start="5 pm", end="7 pm")], []),
        ("an end by another length", [says("two hours from 5 pm"), _call("act", start="5 pm", end="8 pm")], [()]),
        ("a yes", [says("Yes, it is.", fee), _call("act", fee="Yes")], []),
        ("the other of a yes", [says("Yes, it is.", fee), _call("act", fee="No")], [()]),
        ("a yes to another question", [says("Yes, it is.", "Is it far?"), _call("act", fee="Yes")], [()]),
        ("not known", [says("I do not know.", fee), _call("act", fee="No")], []),
        ("not known for the other", [says("I do not know.", fee), _call("act", fee="Yes")], [()]),
        ("not asked", [_call("act", fee="No")], [()]),
    )
    for name, entries, right in cases:
        yield f"shown_before: {name}", said("shown_before", lists, entries), right


def _refused_parameters() -> Iterator[tuple[str, Any, Any]]:
    lookup, rows = {**ORDER, "field": "worth"}, {"system": "s", "kind": "credit", "match": "account", "time": "at"}
    lines = {"system": "s", "kind": "line", "match": "order", "factors": ["count"]}
    cases: tuple[tuple[str, Row, bool], ...] = (
        ("limit", {"argument": "a", "max": 0}, True), ("limit", {"argument": "a", "max": -1}, False),
        ("limit", {"argument": "a", "limits": {"x": 0}, "by": lookup}, True), ("limit", {"argument": "a"}, False),
        ("limit", {"argument": "a", "limits": {"x": -1}, "by": lookup}, False), ("limit", {"max": 1}, False),
        ("limit", {"argument": "a", "limits": {}, "by": lookup}, False), ("limit", {"argument": "a", "max": lookup}, True),
        ("limit", {"argument": "a", "max": 1, "by": lookup}, False), ("limit", {"count": 0, "days": 0, "rows": rows}, True),
        ("limit", {"count": 1, "days": 1}, False), ("limit", {"count": -1, "days": 1, "rows": rows}, False),
        ("limit", {"argument": "a", "limits": {"x": 1, "y": -1}, "by": lookup}, False),
        ("approval", {"argument": "a", "about": "b", "above": 0}, True), ("approval", {"argument": "a", "about": "b", "above": -1}, False),
        ("approval", {"argument": "a", "about": "b", "above": {"x": 0}, "by": lookup}, True),
        ("approval", {"argument": "a", "about": "b", "above": {"x": 1, "y": -1}, "by": lookup}, False),
        ("approval", {"argument": "a", "about": "b", "above": {}, "by": lookup}, False),
        ("approval", {"argument": "a", "about": "b", "above": {"x": 1}}, False),
        ("approval", {"argument": "a", "about": "b", "above": 1, "by": lookup}, False),
        ("exact", {"argument": "a", "field": lookup}, True), ("exact", {"argument": "a", "rows": lines}, True),
        ("exact", {"argument": "a", "amounts": {"x": 1}, "by": lookup}, True), ("exact", {"argument": "a"}, False),
        ("exact", {"argument": "a", "amounts": {"x": 1}}, False), ("exact", {"argument": "a", "field": lookup, "rows": lines}, False),
        ("forbidden", {}, True), ("forbidden", {"state": lookup}, False), ("forbidden", {"values": [1]}, False),
        ("forbidden", {"state": lookup, "values": [1]}, True), ("no_such_rule", {}, False),
        ("shown_before", {}, False), ("shown_before", {"asked_by": {"a": ["a"]}}, False), ("shown_before", {"numbers": ["a"]}, True),
        ("shown_before", {"listed": {"a": ["x"]}}, True), ("shown_before", {"numbers": "a"}, False),
    )  # fmt: skip
    for number, (rule, parameters, fits) in enumerate(cases):
        try:
            found = compile_rule(rule, {**ACT, **parameters})[0].name == rule
        except GraderError:
            found = False
        yield f"{rule}: parameters are checked ({number})", found, fits


def _view() -> Iterator[tuple[str, Any, Any]]:
    """The view that rules see, asked directly."""
    view = JournalView(BASE, AT)
    view.append(_call("look", id="A"))
    other = view.fork()
    shut = RowChange(system="s", kind="order", op="update", record_id="A", fields={"status": "shut"})
    other.append(_call("look", changes=[shut]))
    other.append(_call("look"))
    row = other.row("s", "order", "A", 2)
    yield (
        "a fork of the view leaves it alone",
        (len(view.entries), view.row("s", "order", "A", 9) == BASE["s"]["order"]["A"]),
        (1, True),
    )
    yield (
        "a fork goes on",
        (len(other.entries), row and row["status"], [at for at, _ in other.calls("look", 2)]),
        (3, "shut", [0, 1]),
    )
    try:
        view.append(_call("x", changes=[shut.model_copy(update={"record_id": None})]))
    except GraderError:
        yield "a change without a record is refused by the view", True, True
    else:
        yield "a change without a record is refused by the view", False, True
    ref = RowRef(system="s", kind="order", record_id="A")
    yield "a lookup shows the records on its way", ref in view.follow(_lookup(), {"order": "A"}, 0)[1], True


def _lookup() -> Any:
    from rewards.rule import Lookup

    return Lookup.model_validate(TIER)
