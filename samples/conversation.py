"""The life of one ticket in the helpdesk: opening, triage, questions and answers, acts, closing, and what comes after."""

from __future__ import annotations

from typing import Any

from samples import agent_phrases, phrases
from samples.acts import perform
from samples.cases import CASES
from samples.cases.case import Case
from samples.clock import DAY, HOUR, MINUTE, iso
from samples.opening import first_name, give, opening, style, values
from samples.people import SUPPLIER_DOMAIN
from samples.wording import WORD, Piece, capital, expand, fill, mark, pieces, redact
from samples.world import Audit, Comment, Ticket, World, finish_life

SUPPORT = f"support@{SUPPLIER_DOMAIN}"
GROUP = 360000815201
SYSTEM_USER = -1
UNKNOWN_CODE = "handled_elsewhere"
"""A resolution code that the code book does not know."""
KIND_FIELD, CODE_FIELD, ABOUT_FIELD = "9001", "9002", "9003"
PHONE_KINDS = {
    "order_id": "order number told on the phone", "account_id": "account number told on the phone",
    "new_sku": "article told in a shop chat",
    "new_address": "address told on the phone", "identity": "identity checked on the phone",
}  # fmt: skip


def visible_orders(world: World, ticket: Ticket) -> list[Any]:
    """The person's orders that the order system shows when the ticket arrives."""
    orders = (world.orders[number] for number in ticket.person.orders)
    return [o for o in orders if o.placed_at < ticket.opened_at and not (o.deleted_at and o.deleted_at < ticket.opened_at)]


def arrange(world: World, ticket: Ticket, case: Case) -> dict[str, str]:
    """Where the requester tells each needed thing: opening | asked | volunteered | tools (the systems
    show it) | product (the opening names it) | off (nowhere)."""
    rng = ticket.rng
    second = ticket.user_id == ticket.person.second_user_id
    told: dict[str, str] = {}
    off = ticket.off_system[0] if ticket.off_system else ""
    for slot in case.needs:
        draw = rng.random()
        if slot == off:
            told[slot] = "off"
        elif slot == "order_id":
            seen = visible_orders(world, ticket)
            assert case.order is not None
            assert case.line is not None
            alike = sum(case.line.product in {line.product for line in order.lines} for order in seen)
            if draw < 0.45:
                told[slot] = "opening"
            elif not second and len(seen) == 1 and draw < 0.9:
                told[slot] = "tools"
            elif not second and alike == 1 and draw < 0.66:
                told[slot] = "product"
            else:
                told[slot] = "volunteered" if draw > 0.93 else "asked"
        elif slot == "account_id":
            likely = 0.5 if second else 0.12
            told[slot] = "opening" if draw < likely else ("asked" if second or draw > 0.95 else "tools")
        elif slot == "product":
            one = case.order is not None and len(case.order.lines) == 1
            told[slot] = "opening" if draw < 0.78 or told.get("order_id") == "product" else ("tools" if one else "asked")
        else:
            often = {"new_sku": 0.45, "new_address": 0.5, "identity": 0.12}[slot]
            told[slot] = "opening" if draw < often else ("volunteered" if draw > 0.93 else "asked")
    return told


class Log:
    """Builds a ticket's audits in order of time."""

    def __init__(self, ticket: Ticket) -> None:
        assert ticket.agent is not None
        self.ticket, self.rng, self.agent = ticket, ticket.rng, ticket.agent
        self.now = ticket.opened_at

    def wait(self, low: int, high: int) -> None:
        """Lets between `low` and `high` seconds pass."""
        self.now += self.rng.randint(low, high)

    def audit(self, author: int, channel: str, events: list[dict[str, Any]], source: dict[str, Any] | None = None) -> None:
        self.ticket.audits.append(Audit(self.now, author, channel, events, source or {}))

    def change(self, field: str, value: Any, previous: Any = None) -> dict[str, Any]:
        if field == "status":
            previous, self.ticket.status = self.ticket.status, value
        if field == "tags":
            previous, self.ticket.tags = list(self.ticket.tags), list(value)
        return {"type": "Change", "field_name": field, "value": value, "previous_value": previous}

    def comment(
        self, author: int, parts: list[Piece], *, public: bool = True, dress: str = "plain", quoted: list[Piece] | None = None
    ) -> dict[str, Any]:
        return {"type": "Comment", "comment": Comment(author, parts, public, dress, quoted or [])}

    def say(self, marked: str, *, public: bool = True) -> dict[str, Any]:
        return self.comment(self.agent.user_id, pieces(marked), public=public)

    def mail_source(self) -> dict[str, Any]:
        person = self.ticket.person
        second = self.ticket.user_id == person.second_user_id
        name = person.second_display if second else person.display
        return {
            "from": {"address": self.ticket.address, "name": name},
            "to": {"address": SUPPORT, "name": "Halden Support"},
            "rel": None,
        }


def converse(world: World, ticket: Ticket) -> None:
    """Writes the whole log of a ticket and makes its acts. A merged-away or deleted ticket gets an opening and little else."""
    log, rng, case = Log(ticket), ticket.rng, ticket.case
    told = arrange(world, ticket, case) if case.needs else {}
    slots = values(ticket, case, world.agents)
    first = trivial_opening(ticket, case, slots) if ticket.obstacle == "trivial" else opening(ticket, case, told, dict(slots))
    hide = redacted_identity(ticket, case)
    begin(log, redact(first, hide) if hide else first)
    if ticket.obstacle in ("merged", "deleted"):
        return
    triage(log)
    if ticket.obstacle != "trivial":
        questions(log, case, told, hide, slots)
    if ticket.off_system:
        if rng.random() < 0.5:
            log.wait(5 * MINUTE, 3 * HOUR)
            words = {"first": first_name(ticket.person)}
            log.audit(log.agent.user_id, "web", [log.say(fill(rng, rng.choice(agent_phrases.PHONE_NOTES), words), public=False)])
    elif rng.random() < 0.3:
        log.wait(MINUTE, HOUR)
        log.audit(log.agent.user_id, "web", [log.say(expand(rng, rng.choice(agent_phrases.NOTES)), public=False)])
    if ticket.obstacle == "no_outcome":
        if rng.random() < 0.5:
            log.wait(DAY, 3 * DAY)
            log.audit(log.agent.user_id, "web", [log.change("status", rng.choice(("solved", "pending", "hold")))])
        finish(world, ticket, log.now)
        return
    decide(world, log, case)
    finish(world, ticket, log.now)
    aftermath(log)


def finish(world: World, ticket: Ticket, at: int) -> None:
    if ticket.case.order is not None:
        finish_life(world, ticket.rng, ticket.case.order, at + 2 * HOUR)


def trivial_opening(ticket: Ticket, case: Case, slots: dict[str, str]) -> list[Piece]:
    """An opening of the partner portal, which holds the outcome and all of its values."""
    given = case.writes[0]["arguments"]
    if "new_sku" in given:
        detail = f"Exchange line {mark('line:' + given['line_id'], 'id', given['line_id'])} for article {given['new_sku']}."
    else:
        detail = f"Refund {given['amount_minor'] / 100:.2f} EUR, reason {given['reason']}."
    assert case.order is not None
    order = mark(f"order:{case.order.number}", "id", case.order.number)
    return pieces(fill(ticket.rng, agent_phrases.TRIVIAL, {**slots, "order": order, "detail": detail}))


def redacted_identity(ticket: Ticket, case: Case) -> str:
    """The identity that the supplier's redaction blanks in this ticket, or "" (a needed value: the ticket cannot be rebuilt)."""
    if ticket.obstacle != "redacted":
        return ""
    return f"address:{case.new_address}" if case.new_address else f"postcode:{case.told_postcode}"


def begin(log: Log, parts: list[Piece]) -> None:
    ticket = log.ticket
    dress = "html_only" if "html_only" in ticket.plants else "plain"
    created = [
        {"type": "Create", "field_name": name, "value": value}
        for name, value in (
            ("subject", ticket.subject), ("requester_id", ticket.user_id), ("organization_id", ticket.organisation.zendesk_id),
            ("status", "new"), ("priority", None), ("type", None), ("group_id", GROUP), ("brand_id", 360002817419),
        )
    ]  # fmt: skip
    log.audit(ticket.user_id, "email", [*created, log.comment(ticket.user_id, parts, dress=dress)], log.mail_source())
    tags = sorted(log.rng.sample(agent_phrases.AUTOTAGS, 2))
    log.audit(SYSTEM_USER, "rule", [log.change("tags", tags), log.change("priority", log.rng.choice(("low", "normal", "high")))])


def triage(log: Log) -> None:
    log.wait(3 * MINUTE, 5 * HOUR)
    kind = log.ticket.kind
    log.audit(
        log.agent.user_id, "web",
        [log.change("assignee_id", log.agent.user_id), log.change("status", "open"), log.change(KIND_FIELD, kind)],
    )  # fmt: skip


def questions(log: Log, case: Case, told: dict[str, str], hide: str, slots: dict[str, str]) -> None:
    """Asks for what is missing, one or two things at a time; the requester answers, or says so when there is no answer."""
    rng, ticket = log.rng, log.ticket
    slots = {**slots, "agent": mark(log.agent.identity, "first", log.agent.first)}
    words = {
        "first": first_name(ticket.person, nickname=rng.random() < 0.1),
        "full": mark(ticket.person.identity, "full", ticket.person.name),
    }
    missing = [slot for slot, where in told.items() if where == "asked"]
    extra = [slot for slot, where in told.items() if where == "volunteered"]
    if ticket.obstacle == "no_outcome":
        missing, extra = missing or ["delivered"], []
    elif rng.random() < 0.06 and case.order is not None:
        missing.append("delivered")
    while missing:
        now, missing = missing[:2], missing[2:]
        ask = " ".join(fill(rng, rng.choice(agent_phrases.ASK[slot]), slots) for slot in now)
        hello = fill(rng, rng.choice(agent_phrases.HELLO), words)
        lead = capital(expand(rng, rng.choice(agent_phrases.THANKS_FOR)))
        name = mark(log.agent.identity, "first", log.agent.first)
        said = f"{hello}\n\n{lead + ' ' if lead else ''}{ask}\n\n{rng.choice(('Regards', 'Best', 'Kind regards'))}\n{name}"
        log.wait(2 * MINUTE, 50 * MINUTE)
        log.audit(log.agent.user_id, "web", [log.say(said), log.change("status", "pending")])
        if ticket.obstacle == "no_outcome":
            return
        log.wait(6 * MINUTE, 9 * HOUR)
        answers = [
            expand(rng, rng.choice(phrases.DONT_KNOW)) if slot == "delivered" else give(ticket, slot, slots) for slot in now
        ]
        if extra and rng.random() < 0.6:
            answers.append(fill(rng, rng.choice(phrases.VOLUNTEER_LEAD), slots) + give(ticket, extra.pop(), slots))
        answer_turn(log, slots, answers, said, hide)
    for slot in extra:
        log.wait(10 * MINUTE, 3 * HOUR)
        answer_turn(log, slots, [fill(rng, rng.choice(phrases.VOLUNTEER_LEAD), slots) + give(ticket, slot, slots)], "", hide)


def answer_turn(log: Log, slots: dict[str, str], answers: list[str], said: str, hide: str) -> None:
    """One message of the requester, now and then with the agent's words quoted below it."""
    rng, ticket = log.rng, log.ticket
    lead = fill(rng, rng.choice(phrases.ANSWER_LEAD), slots) if said and "arrive" not in said else ""
    end = f"\n\n{first_name(ticket.person, nickname=rng.random() < 0.3)}" if rng.random() < 0.4 else ""
    parts = style(ticket, lead + " ".join(answers) + end)
    quoted: list[Piece] = []
    if said and rng.random() < 0.35:
        ticket.plants.add("quoted_reply")
        lines = said.replace("\n", "\n> ")
        quoted = pieces(
            f"\n\nOn {rng.choice(('Mon', 'Tue', 'Thu'))}, Halden Support "
            f"<{mark('organisation:supplier', 'email', SUPPORT)}> wrote:\n> {lines}"
        )
    if hide:
        parts = redact(parts, hide)
    dress = "html_only" if "html_only" in ticket.plants and rng.random() < 0.5 else "plain"
    comment = log.comment(ticket.user_id, parts, dress=dress, quoted=quoted)
    log.audit(ticket.user_id, "email", [comment, log.change("status", "open")], log.mail_source())


def decide(world: World, log: Log, case: Case) -> None:
    """Makes the acts and closes with the outcome."""
    rng, ticket = log.rng, log.ticket
    log.wait(4 * MINUTE, 4 * HOUR)
    for call in case.writes:
        log.now = perform(world, ticket, call, log.now)
        ticket.writes.append(call)
        log.now += rng.randint(1, 3)
        log.audit(SYSTEM_USER, "api", [log.change(ABOUT_FIELD, case.about), log.say(agent_phrases.LINKED, public=False)])
        log.wait(20, 6 * MINUTE)
    grant = CASES[ticket.kind].GRANT if ticket.kind in CASES else ""
    code = grant if ticket.obstacle == "broke_rule" else ticket.code
    ticket.recorded_about = case.about
    ticket.recorded_code = {"unknown_code": UNKNOWN_CODE, "out_of_scope": ""}.get(ticket.obstacle, code)
    close(log, case, code, "grant" if code == grant else "refuse")


def close(log: Log, case: Case, code: str, outcome: str) -> None:
    rng, ticket = log.rng, log.ticket
    reference = "zq" + "".join(rng.choices("abcdefghjkmnpqrstuvwxyz23456789", k=8))
    name = mark(log.agent.identity, "first", log.agent.first)
    hello = fill(
        rng,
        rng.choice(agent_phrases.HELLO),
        {"first": first_name(ticket.person), "full": mark(ticket.person.identity, "full", ticket.person.name)},
    )
    words = capital(expand(rng, rng.choice(agent_phrases.CLOSE[code if ticket.obstacle != "unknown_code" else ""])).strip())
    said = f"{hello}\n\n{words} Our reference for this answer is {reference}.\n\nBest regards\n{name}"
    events = [log.say(said), log.change("status", "solved")]
    ticket.leaks.append(("closing_comment", "ticket_audits", reference))
    if ticket.kind in CASES:
        if not case.writes:
            events.append(log.change(ABOUT_FIELD, ticket.recorded_about))
        events.append(log.change(CODE_FIELD, ticket.recorded_code))
        tag = agent_phrases.TAG_OF_CLASS[outcome]
        events.append(log.change("tags", sorted({*ticket.tags, tag, f"done_{ticket.kind}"})))
        ticket.leaks.append(("tag", "tickets.tags", tag))
    log.audit(log.agent.user_id, "web", events)
    ticket.solved_at = log.now
    if "subject_rewritten" in ticket.plants:
        new = f"[{'ok' if outcome == 'grant' else 'nok'} {reference[2:6]}] {ticket.subject}"
        ticket.final_subject = new
        log.wait(2, 90)
        log.audit(log.agent.user_id, "web", [log.change("subject", new, ticket.subject)])
        ticket.leaks.append(("subject", "tickets.subject", new[: new.index("]") + 1]))
    if "outcome_note" in ticket.plants:
        note = f"{code or 'answered'} as per policy, file {reference[::-1]}"
        log.wait(2, 90)
        log.audit(log.agent.user_id, "web", [log.say(note, public=False)])
        ticket.leaks.append(("internal_note", "ticket_audits", reference[::-1]))
    if "thanks" in ticket.plants:
        log.wait(5 * MINUTE, 8 * HOUR)
        text = expand(rng, rng.choice(phrases.THANKS)) + f" I keep {mark(WORD, 'reference', reference + 't')} for my files."
        log.audit(
            ticket.user_id,
            "email",
            [log.comment(ticket.user_id, style(ticket, text)), log.change("status", "open")],
            log.mail_source(),
        )
        ticket.leaks.append(("requester_thanks", "ticket_audits", reference + "t"))
        log.wait(MINUTE, 2 * HOUR)
        log.audit(log.agent.user_id, "web", [log.change("status", "solved")])
        ticket.solved_at = log.now
    ticket.leaks.append(("metric", "ticket_metrics", iso(ticket.solved_at)))
    if rng.random() < 0.35:
        good = rng.random() < (0.9 if outcome == "grant" else 0.25)
        ticket.score = "good" if good else "bad"
        ticket.score_comment = expand(rng, rng.choice(phrases.RATING[ticket.score])) if rng.random() < 0.5 else ""


def aftermath(log: Log) -> None:
    """The helpdesk closes solved tickets after four days."""
    log.now += 4 * DAY + log.rng.randint(0, HOUR)
    log.ticket.closed_at = log.now
    log.audit(SYSTEM_USER, "rule", [log.change("status", "closed")])


def merge(away: Ticket, target: Ticket) -> None:
    """Closes `away` into `target`, with the two comments that the helpdesk writes."""
    log = Log(away)
    log.wait(2 * MINUTE, 15 * MINUTE)
    away.merged_into = target.number
    text = agent_phrases.MERGED_AWAY.format(
        other=mark(f"ticket:{target.number}", "id", str(target.number)), subject=target.subject
    )
    events = [
        log.comment(log.agent.user_id, pieces(text), public=False),
        log.change("status", "closed"),
        log.change("tags", sorted({*away.tags, "closed_by_merge"})),
    ]
    source = {"from": {}, "to": {"ticket_id": target.number, "subject": target.subject}, "rel": "merge"}
    log.audit(log.agent.user_id, "web", events, source)
    away.closed_at = log.now
    opening_parts = next(event["comment"].parts for event in away.audits[0].events if event["type"] == "Comment")
    head = agent_phrases.MERGED_INTO.format(
        other=mark(f"ticket:{away.number}", "id", str(away.number)), subject=away.subject, text=""
    )
    other = Log(target)
    other.now = log.now
    event = other.comment(log.agent.user_id, [*pieces(head), *opening_parts], public=False)
    target.audits.append(
        Audit(
            log.now,
            log.agent.user_id,
            "web",
            [event],
            {"from": {"ticket_id": away.number, "subject": away.subject}, "to": {}, "rel": "merge"},
        )
    )
    target.audits.sort(key=lambda audit: audit.at)
