"""The helpdesk: earlier tickets, the conversation with the requester, and the acts that finish a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from environments.tool import Context, Decision, Effect, Page, Prose, System, Tool, clip, paged, refuse, tool
from schemas.episode import Frozen, RefusalKind

SHOWN_OF_USER = ("name", "email")
"""Not the phone: an identity is checked against it."""


class Options(Frozen):
    codes: tuple[str, ...] = Field(min_length=1)
    """Every outcome code of the code book, whatever the task's own is."""
    slots: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Slot -> words that ask the requester for it."""
    finish: Literal["record", "answer"] = "record"
    """record: `resolve(code, about)` names the record that the decision is about; answer: `resolve(code, answer)`."""


def search_tickets(context: Context, requester_id: str, page: Page = 1) -> Any:
    """Shows who a requester is (name and e-mail address on file) and their tickets, oldest first, ten to a page.

    Refuses: not_found if the helpdesk has no such requester.

    Args:
        requester_id: The requester's user id, e.g. USER_1A2B3C4D.
        page: Page of the list, from 1.
    """
    rows = context.state.where("helpdesk", "ticket", "requester_id", requester_id)
    user = context.state.look("helpdesk", "user", requester_id)
    if not rows and user is None:
        refuse(RefusalKind.not_found, f"search_tickets: the helpdesk has no requester {requester_id}")
    rows.sort(key=lambda pair: (str(pair[1].get("created_at")), pair[0]))
    shown, place = paged("search_tickets", rows, page)
    tickets = []
    for record_id, row in shown:
        context.state.note("helpdesk", "ticket", record_id)
        tickets.append({"ticket_id": record_id, **clip({k: v for k, v in row.items() if k != "messages"})})
    known = {name: user[name] for name in SHOWN_OF_USER if name in user} if user is not None else {}
    return {"requester": {"requester_id": requester_id, **known}, "tickets": tickets, **place}


def read_ticket(context: Context, ticket_id: str, page: Page = 1) -> Any:
    """Shows one ticket with its public messages, ten to a page.

    Refuses: not_found if there is no such ticket.

    Args:
        ticket_id: The ticket's id, e.g. TICKET_1A2B3C4D.
        page: Page of the messages, from 1.
    """
    row = context.state.look("helpdesk", "ticket", ticket_id)
    if row is None:
        refuse(RefusalKind.not_found, f"read_ticket: there is no ticket {ticket_id}")
    messages, place = paged("read_ticket", list(row.get("messages", ())), page)
    return {
        "ticket_id": ticket_id,
        **clip({name: value for name, value in row.items() if name != "messages"}),
        "messages": [clip(message) for message in messages],
        **place,
    }


def reply_to_requester(context: Context, text: Prose) -> Any:
    """Sends a message to the requester and returns the answer. Ask for one or two things at a time.

    Args:
        text: The message in plain words.
    """
    reply = context.requester.answer(text)
    context.told = reply.told
    return {"requester": reply.text}


def add_note(context: Context, text: Prose) -> Any:
    """Adds an internal note to the ticket; the requester does not see it, and it changes nothing else.

    Args:
        text: The note in plain words.
    """
    return {"noted": True}


def _finish(context: Context, fields: dict[str, Any]) -> None:
    opened = context.task.opening.record
    context.state.update(opened.system, opened.kind, opened.record_id, fields)


def resolve(context: Context, code: Decision, about: str) -> Any:
    """Closes the ticket with a resolution code. This ends the case: do everything else before.

    Args:
        code: The resolution code; a refusal has a code of its own that says why.
        about: Id of the order or account that the decision is about.
    """
    _finish(context, {"status": "solved", "resolution_code": code, "about_record": about})
    return {"status": "solved", "code": code, "about": about}


def resolve_with_answer(context: Context, code: Decision, answer: dict[str, Any] | None = None) -> Any:
    """Closes the case with a resolution code and, where the case asks for one, a typed answer. This ends the case.

    Args:
        code: The resolution code.
        answer: The answer's fields and values as the systems gave them, e.g. {"balance": 1200}.
    """
    _finish(context, {"status": "solved", "resolution_code": code})
    return {"status": "solved", "code": code, "answer": answer or {}}


def escalate(context: Context, reason: Prose) -> Any:
    """Hands the case to a colleague instead of deciding it. This ends the case.

    Args:
        reason: Why it cannot be decided here.
    """
    _finish(context, {"status": "escalated"})
    return {"status": "escalated"}


SOLVED = Effect(
    "helpdesk", "ticket", "update", None, {"resolution_code": "code", "about_record": "about"}, {"status": "solved"}
)  # fmt: skip
ANSWERED = Effect("helpdesk", "ticket", "update", None, {"resolution_code": "code"}, {"status": "solved"})
ESCALATED = Effect("helpdesk", "ticket", "update", None, {}, {"status": "escalated"})


def _tools(options: Options, _: Callable[[str], Any]) -> list[Tool]:
    codes = {"code": options.codes}
    if options.finish == "record":
        finish = tool("helpdesk", resolve, effect=SOLVED, finishing=True, choices=codes)
    else:
        finish = tool("helpdesk", resolve_with_answer, name="resolve", effect=ANSWERED, finishing=True, choices=codes)
    return [
        tool("helpdesk", search_tickets, reads=True),
        tool("helpdesk", read_ticket, reads=True),
        tool("helpdesk", reply_to_requester, speaks=True, returns=("requester",)),
        tool("helpdesk", add_note, returns=("noted",)),
        finish,
        tool("helpdesk", escalate, effect=ESCALATED, finishing=True),
    ]


SYSTEM = System(name="helpdesk", options=Options, tools=_tools)
