"""What the requester writes first, and how the requester speaks later: the person's style, names in many forms, signatures."""

from __future__ import annotations

from samples import phrases
from samples.cases.case import Case
from samples.clock import german_date
from samples.people import FIRST, LAST, Person
from samples.wording import WORD, Piece, capital, expand, fill, lower, mark, pieces, typos
from samples.world import Order, Ticket

ORDER_FORMS = ("{n}", "{n}", "{n}", "{n}", "{n}", "{n}", "A{d}", "A {d}")


def order_mention(ticket: Ticket, order: Order) -> str:
    written = ticket.rng.choice(ORDER_FORMS).format(n=order.number, d=order.number[2:])
    return mark(f"order:{order.number}", "id", written)


def first_name(person: Person, nickname: bool = False) -> str:
    if nickname and person.nickname:
        return mark(person.identity, "nickname", person.nickname)
    return mark(person.identity, "first", person.first)


def own_name(ticket: Ticket) -> str:
    """The requester's name under a mail, in one of many forms."""
    rng, person = ticket.rng, ticket.person
    draw = rng.random()
    if draw < 0.10:
        return mark(person.identity, "initials", f"{person.first[0]}. {person.last}")
    if draw < 0.15:
        return mark(person.identity, "initials", f"{person.first[0]}{person.last[0]}")
    if draw < 0.18 and len(person.last) > 4:
        ticket.plants.add("typo_name")
        at = rng.randrange(1, len(person.last) - 2)
        last = person.last[:at] + person.last[at + 1] + person.last[at] + person.last[at + 2 :]
        return mark(person.identity, "typo", f"{person.first} {last}")
    if draw < 0.34:
        if person.nickname:
            ticket.plants.add("nickname")
        return first_name(person, nickname=True)
    if draw < 0.5:
        return first_name(person)
    if draw < 0.55:
        return mark(person.identity, "last_first", f"{person.last}, {person.first}")
    return mark(person.identity, "full", person.name)


def signature(ticket: Ticket, *, phone: bool, account: bool) -> str:
    rng, person = ticket.rng, ticket.person
    lines = [own_name(ticket)]
    if rng.random() < 0.35:
        lines.append(mark(f"organisation:{ticket.organisation.number}", "name", ticket.organisation.name))
    if phone and rng.random() < 0.3:
        lines.append("Tel. " + mark(person.identity, "phone", person.national_phone if rng.random() < 0.7 else person.phone))
    if rng.random() < 0.1:
        lines.append(mark(person.identity, "email", ticket.address))
    if account:
        lines.append("Customer no. " + mark(f"account:{person.account}", "id", person.account))
    return "\n".join(lines)


def values(ticket: Ticket, case: Case, agents: list[Person]) -> dict[str, str]:
    """Slots of the phrases, with marks. People greet whichever agent they remember."""
    person, rng = ticket.person, ticket.rng
    assert person.billing is not None
    told_right = case.told_phone == person.national_phone
    phone = (
        mark(person.identity, "phone", case.told_phone)
        if told_right
        else mark(f"phone:{case.told_phone}", "phone", case.told_phone)
    )
    greeted = rng.choice(agents)
    third = f"{rng.choice(FIRST)} {rng.choice(LAST)}" if rng.random() < 0.5 else rng.choice(FIRST)
    return {
        "order": order_mention(ticket, case.order) if case.order else "",
        "account": mark(f"account:{person.account}", "id", person.account),
        "product": mark(WORD, "product", case.line.short) if case.line else "",
        "sku": mark(WORD, "sku", case.new_sku),
        "address": mark(f"address:{case.new_address}", "address", case.new_address),
        "postcode": mark(f"postcode:{case.told_postcode}", "postcode", case.told_postcode),
        "phone": phone,
        "date": german_date(case.order.placed_at) if case.order else "",
        "agent": mark(greeted.identity, "first", greeted.first),
        "third": mark(f"person:x{ticket.number}", "full" if " " in third else "first", third),
        "small": str(rng.randint(10, 99)),
    }


def style(ticket: Ticket, marked: str) -> list[Piece]:
    """The person's way of writing, over a marked text."""
    parts = pieces(marked)
    rate = {"hasty": 0.10, "chatty": 0.02, "lowercase": 0.05}.get(ticket.person.style, 0.008)
    parts = typos(ticket.rng, parts, rate)
    return lower(parts) if ticket.person.style == "lowercase" else parts


def give(ticket: Ticket, slot: str, slots: dict[str, str]) -> str:
    """The sentence in which the requester tells one thing."""
    return capital(fill(ticket.rng, ticket.rng.choice(phrases.GIVE[slot]), slots))


def reference(ticket: Ticket, case: Case, told: bool, by_product: bool) -> tuple[str, str]:
    """How the requester refers to the order, inside and at the start of a sentence."""
    rng = ticket.rng
    if case.order and told:
        number = order_mention(ticket, case.order)
        word = rng.choice(("order ", "our order ", "order no. ", "my order ", ""))
        return word + number, capital(word) + number
    words = expand(rng, rng.choice(phrases.ORDER_WORDS))
    if by_product and case.line:
        words = f"{rng.choice(('the order', 'our order', 'the delivery'))} with the {mark(WORD, 'product', case.line.short)}"
    return words, capital(words)


def ended(sentence: str) -> str:
    """The sentence with a full stop, if it has no end of its own."""
    return sentence if sentence.rstrip()[-1:] in ".?!" else sentence.rstrip(",; ") + "."


def opening(ticket: Ticket, case: Case, told: dict[str, str], slots: dict[str, str]) -> list[Piece]:
    """The first message. `told` says for each slot where the requester tells it; those told in the "opening" are in it."""
    rng, person = ticket.rng, ticket.person
    topic = ticket.sub or ticket.kind
    here = [slot for slot, where in told.items() if where == "opening"]
    by_product = told.get("order_id") == "product"
    inline = "order_id" in here and rng.random() < 0.7
    slots["ord"], slots["ord_cap"] = reference(ticket, case, inline, by_product)
    if topic in ("damaged", "exchange") and told.get("product") != "opening":
        slots["product"] = rng.choice(("item", "article", "thing", "piece"))
    body = [capital(fill(rng, rng.choice(phrases.REQUESTS[topic]), slots))]
    short = person.style == "terse"
    if topic in phrases.CONTEXT:
        for _ in range(rng.choice((0, 1) if short else (1, 1, 2))):
            body.insert(rng.choice((0, len(body))), fill(rng, rng.choice(phrases.CONTEXT[topic]), slots))
    sign_account = "account_id" in here and rng.random() < 0.4
    for slot in here:
        if slot == "product" or (slot == "order_id" and inline) or (slot == "account_id" and sign_account):
            continue
        body.append(give(ticket, slot, slots))
    fillers = [text for text in rng.sample(phrases.FILLERS, 3) if slots["date"] or "{date}" not in text]
    for text in fillers[: rng.choice((0, 1) if short else (0, 1, 1, 2, 3))]:
        body.insert(rng.randint(0, len(body)), fill(rng, text, slots))
    if "redaction" in ticket.plants:
        body.append(f"My card is the one ending in {'▇' * 4}.")
    greeting = fill(rng, rng.choice(phrases.GREETINGS[person.style]), slots)
    closing = "Viele Grüße" if "mojibake" in ticket.plants else expand(rng, rng.choice(phrases.CLOSINGS[person.style]))
    identity_kind = ticket.kind in ("address_change", "account_recovery")
    end = signature(ticket, phone=not identity_kind, account=sign_account)
    blocks = [greeting, " ".join(ended(sentence) for sentence in dict.fromkeys(body)), f"{closing}\n{end}" if closing else end]
    return style(ticket, "\n\n".join(block for block in blocks if block))
