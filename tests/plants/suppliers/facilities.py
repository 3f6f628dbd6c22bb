"""Facility management of several campuses: incidents in the style of an ITSM export, devices, rooms, contracts, visits.

Three workflows, two outcomes each. What decides lies in the state alone (the cover of the device, the level of a holder, the
lease of a room), drawn apart from the words, the hour, the company and the ids of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from schemas.episode import RowChange, RowRef, ToolCall
from schemas.records import CodeBook, FieldRule, OutcomeCode
from schemas.spec import HoldoutSpec
from schemas.task import (
    Answer,
    Fact,
    Opening,
    Outcome,
    PolicyClause,
    PolicySpec,
    ReferenceStep,
    RequesterSpec,
    RuleRef,
    SystemRef,
    TaskSpec,
)
from tasks.leaks import LeakInput
from tasks.leaks._types import ColumnHistory
from tests.plants._edit import stamp
from tests.plants.suppliers._set import Draft, Store, clean_set, token

START = datetime(2017, 3, 6, 6, 0, tzinfo=UTC)
DAYS = 300
WORKFLOWS = ("repair", "badge", "move")
CODES = {
    "repair": {"accept": "technician_sent", "decline": "outside_cover"},
    "badge": {"accept": "badge_printed", "decline": "clearance_too_low"},
    "move": {"accept": "move_scheduled", "decline": "lease_forbids_move"},
}
LABELS = {
    "technician_sent": "Technician was sent",
    "outside_cover": "Device is outside its cover",
    "badge_printed": "Badge was printed",
    "clearance_too_low": "Clearance of the holder too low",
    "move_scheduled": "Move was put on the schedule",
    "lease_forbids_move": "Lease of the room forbids it",
}
FIELDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "itsm.incident.number": ("text", "start", {}),
    "itsm.incident.caller": ("id", "start", {"identity": "person"}),
    "itsm.incident.company": ("id", "start", {"identity": "organisation"}),
    "itsm.incident.short_description": ("text", "start", {}),
    "itsm.incident.contact_type": ("code", "start", {}),
    "itsm.incident.opened_at": ("time", "start", {}),
    "itsm.incident.journal": ("json", "history", {}),
    "itsm.incident.close_code": ("code", "post_hoc", {}),
    "itsm.incident.close_notes": ("text", "post_hoc", {}),
    "itsm.incident.resolved_at": ("time", "post_hoc", {}),
    "itsm.incident.reassignment_count": ("int", "post_hoc", {}),
    "itsm.incident.made_sla": ("bool", "post_hoc", {}),
    "cmdb.device.model": ("text", "history", {}),
    "cmdb.device.room": ("id", "history", {"identity": "room"}),
    "cmdb.device.cover": ("code", "history", {}),
    "cmdb.device.serviced_at": ("time", "history", {}),
    "cmdb.device.next_service": ("date", "history", {"planned_future": True}),
    "cmdb.contract.company": ("id", "history", {"identity": "organisation"}),
    "cmdb.contract.ends_on": ("date", "history", {"planned_future": True}),
    "cmdb.contract.visits_used": ("int", "history", {}),
    "space.room.label": ("text", "static", {}),
    "space.room.level": ("int", "history", {}),
    "space.room.seats": ("int", "history", {}),
    "space.room.lease_terms": ("code", "history", {}),
    "space.holder.level": ("int", "history", {}),
    "space.holder.person": ("name", "history", {}),
    "crew.job.room": ("id", "history", {"identity": "room"}),
    "crew.visit.contract": ("id", "history", {"identity": "contract"}),
    "crew.visit.device": ("id", "history", {"identity": "device"}),
    "crew.visit.began_at": ("time", "history", {}),
    "crew.visit.minutes": ("int", "history", {}),
}
MODELS = (
    "air handler",
    "badge reader",
    "beamer",
    "dishwasher",
    "door closer",
    "heat pump",
    "lift panel",
    "label printer",
    "plotter",
)
SIGNS = ("hums since the morning", "stays dark", "shows error 17", "drips on the floor", "smells burnt", "jams at each third go")
SIGNS += ("does not cool", "resets by itself", "blinks amber", "is stuck half way", "beeps without end", "lost its settings")
PLACES = ("left of the stairs", "by the reception", "in the corner with the plants", "next to the archive", "on the gallery")
PLACES += (
    "behind the canteen",
    "opposite the copy room",
    "at the goods entrance",
    "under the roof window",
    "near the bicycle racks",
)
NEED = (
    "we have visitors on friday",
    "two teams share it",
    "the cleaning crew complained",
    "our lab needs it daily",
    "no hurry though",
)
NEED += ("it was quiet for months before", "the neighbours asked as well", "i tried a cold start", "the manual is of no help")
PEOPLE = (
    "a new colleague",
    "our trainee",
    "the auditor from abroad",
    "my deputy",
    "the visiting professor",
    "a contractor",
    "the night guard",
)
REASON = (
    "starts next week",
    "forgot the old one in a taxi",
    "changed departments",
    "needs to come in early",
    "came back from leave",
)
REASON += ("works here for a quarter", "joins the lab meeting", "covers for two others", "has a locker there already")
ITEMS = (
    "four desks",
    "the sample freezer",
    "our archive boxes",
    "six chairs and a board",
    "the plotter table",
    "two server racks",
)
ITEMS += ("the whole reading corner", "a heavy safe", "the demo kitchen", "nine monitors")
WHY = (
    "we are too many here",
    "the light is poor",
    "the floor gets redone",
    "the teams want to sit together",
    "noise from the yard",
)
WHY += ("the old place is sold", "it blocks the emergency exit", "we share with finance from now on")
BYE = ("thx", "cheers from the third floor", "regards", "best", "many thanks in advance", "yours", "so long", "greetings")
ASKS = {
    "device": ("which unit exactly, please give the asset tag?", "can you read me the tag on the unit?", "asset tag please?"),
    "room": ("into which room should it go?", "which room is meant?", "room please?"),
    "holder": ("for whom is it, please send the holder id?", "whose badge is it?", "holder id please?"),
}
TELLS = ("it is {v}, as far as the sticker goes", "{v}.", "that would be {v}", "i think {v}, yes {v}", "the paper here says {v}")
TALK = (
    "checked with dispatch, slot {n} was still open",
    "spoke to the vendor about bracket {n}",
    "noted under page {n} of the duty book",
    "the keys for cabinet {n} are with the porter",
    "forwarded to desk {n} with a photo",
)
DONE = {
    "technician_sent": ("someone comes by, slip {n}", "a mechanic is on the way with slip {n}"),
    "outside_cover": (
        "sorry, your agreement does not pay for this unit, slip {n}",
        "we would have to charge you for it, slip {n}",
    ),
    "badge_printed": ("it lies ready at the gate, slip {n}", "you may pick it up downstairs, slip {n}"),
    "clearance_too_low": ("we may not hand that one out, slip {n}", "the holder would need another level first, slip {n}"),
    "move_scheduled": ("the movers have you on their list, slip {n}", "the van is booked for you, slip {n}"),
    "lease_forbids_move": ("the landlord does not let us, slip {n}", "that floor may not take it, slip {n}"),
}


def code_book() -> CodeBook:
    outcomes = {
        code: OutcomeCode(workflow=workflow, outcome_class=name, label=LABELS[code])
        for workflow, codes in CODES.items()
        for name, code in codes.items()
    }
    fields = {key: FieldRule(type=t, known_at=k, **more) for key, (t, k, more) in FIELDS.items()}  # type: ignore[arg-type]
    return CodeBook(supplier="campus", fields=fields, outcomes=outcomes)


@dataclass(slots=True)
class Company:
    name: str
    contract: str
    callers: list[tuple[str, str]]
    devices: dict[str, dict[str, Any]]
    rooms: dict[str, dict[str, Any]]
    holders: dict[str, dict[str, Any]]
    visits: list[tuple[datetime, str, dict[str, Any]]] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[tuple[datetime, str, dict[str, Any]]] = field(default_factory=list)


def _company(seed: int, number: int, rng: Random) -> Company:
    name = token("ORG", seed, number)
    rooms = {
        token("ROOM", seed, number, i): {
            "label": f"{rng.choice('ABCDEFG')}{rng.randrange(1, 5)}.{rng.randrange(10, 60)}",
            "level": rng.randrange(1, 5),
            "seats": rng.randrange(2, 30),
            "lease_terms": "free" if i % 2 else "fixed",
        }
        for i in range(6)
    }
    ids = sorted(rooms)
    devices = {
        token("DEVICE", seed, number, i): {
            "model": rng.choice(MODELS),
            "room": rng.choice(ids),
            "cover": "full" if i % 2 else "none",
            "serviced_at": stamp(START - timedelta(days=rng.randrange(20, 400), seconds=rng.randrange(86_400))),
            "next_service": (START + timedelta(days=rng.randrange(400, 700))).strftime("%Y-%m-%d"),
        }
        for i in range(8)
    }
    holders = {
        token("HOLDER", seed, number, i): {"level": 1 + i % 4, "person": token("PERSON", seed, number, "h", i)} for i in range(8)
    }
    callers = [(token("USER", seed, number, i), token("PERSON", seed, number, "c", i)) for i in range(7)]
    return Company(name, token("CONTRACT", seed, number), callers, devices, rooms, holders)


def _text(workflow: str, rng: Random, company: Company, item: str, told: bool) -> tuple[str, str]:
    """(subject, words) of a request; `told`: whether it names the record."""
    room = company.rooms[rng.choice(sorted(company.rooms))]["label"]
    if workflow == "repair":
        model = rng.choice(MODELS)
        parts = [
            f"{model} {room} {rng.choice(PLACES)} {rng.choice(SIGNS)}",
            rng.choice(NEED),
            f"seen {rng.randrange(2, 40)} times by {rng.choice(PEOPLE)}",
        ]
        subject = rng.choice((f"{model} trouble", f"{room} unit", "something broke", f"pls look at {model}"))
    elif workflow == "badge":
        parts = [
            f"need a badge, {rng.choice(PEOPLE)} {rng.choice(REASON)}",
            f"door {rng.choice(PLACES)} of {room}",
            rng.choice(NEED),
        ]
        subject = rng.choice(("badge", f"entry to {room}", "access card wanted", "door rights"))
    else:
        parts = [
            f"please move {rng.choice(ITEMS)} from {room} {rng.choice(PLACES)}",
            rng.choice(WHY),
            f"about {rng.randrange(20, 400)} kg says {rng.choice(PEOPLE)}",
        ]
        subject = rng.choice(("move", f"carry things out of {room}", "relocation", "need hands"))
    if told:
        parts.append(rng.choice((f"tag {item}", f"it is {item}", f"see {item}")))
    rng.shuffle(parts)
    return subject, f"{'; '.join(parts)}. {rng.choice(BYE)}"


def _policies(store: Store) -> tuple[dict[str, list[str]], dict[str, tuple[str | None, str | None]]]:
    turn = START + timedelta(days=120)
    digests: dict[str, list[str]] = {"cover": [], "access": []}
    clauses = {
        "cover": ("A technician is sent where the unit has full cover.", "Look at the unit and at the contract before deciding."),
        "access": ("A badge needs a holder of at least the room's level.", "Look at room and holder before deciding."),
    }
    times: dict[str, tuple[str | None, str | None]] = {}
    for document, texts in clauses.items():
        for version in (1, 2):
            extra = (PolicyClause(clause="1.3", text="Write a short note at the end."),) if version == 2 else ()
            spec = PolicySpec(
                document=document,
                version=version,
                title=document.capitalize(),
                clauses=(*(PolicyClause(clause=f"1.{i + 1}", text=t) for i, t in enumerate(texts)), *extra),
            )
            digests[document].append(store.put(spec.model_dump(mode="json")))
            times[f"{document} v{version}"] = (None, stamp(turn)) if version == 1 else (stamp(turn), None)
    return digests, times


def make(seed: int, requests: int = 240) -> LeakInput:
    """A clean set of about `requests` less those of the embargo; the same for the same seed."""
    rng, store = Random(f"facilities/{seed}"), Store()
    companies = [_company(seed, i, rng) for i in range(max(8, requests // 14))]
    digests, policy_times = _policies(store)
    seen: dict[str, str] = {}
    for company in companies:
        long_ago = stamp(START - timedelta(days=500))
        seen.update(dict.fromkeys([company.name, company.contract, *company.devices, *company.rooms, *company.holders], long_ago))
        seen.update({t: long_ago for pair in company.callers for t in pair})
        seen.update({h["person"]: long_ago for h in company.holders.values()})
        for i in range(rng.randrange(3, 9)):
            _visit(company, START - timedelta(days=rng.randrange(5, 200)), f"{seed}/{company.name}/old{i}", rng, seen)
    jobs = sorted(START + timedelta(seconds=rng.randrange(-40 * 86_400, DAYS * 86_400)) for _ in range(requests))
    for i, at in enumerate(jobs):
        company = rng.choice(companies)
        company.jobs.append((at, f"JOB-{7000 + i:06d}", {"room": rng.choice(sorted(company.rooms))}))
    instants = sorted(START + timedelta(seconds=rng.randrange(DAYS * 86_400)) for _ in range(requests))
    drafts = [_request(seed, i, at, companies, rng, store, digests, seen) for i, at in enumerate(instants)]
    columns = {
        "cmdb.device.cover": ColumnHistory(rows=900, early=0, records=300, constant=120, declared=False),
        "cmdb.device.serviced_at": ColumnHistory(rows=900, early=0, records=300, constant=20, declared=False),
        "space.room.level": ColumnHistory(rows=400, early=0, records=150, constant=70, declared=False),
    }
    return clean_set(
        "campus_v1",
        drafts,
        store,
        code_book(),
        HoldoutSpec(min_per_slice=8),
        seed,
        seen,
        policy_times=policy_times,
        aggregates={"cmdb.contract.visits_used": ("crew.visit", "contract")},
        sequences={
            "itsm.incident.number": tuple((stamp(at), 40_000 + 3 * i) for i, at in enumerate(instants)),
            "crew.job": tuple((stamp(at), 7000 + i) for i, at in enumerate(jobs)),
        },
        columns=columns,
    )


def _visit(company: Company, at: datetime, name: str, rng: Random, seen: dict[str, str]) -> str:
    visit = token("VISIT", name)
    fields = {
        "contract": company.contract,
        "device": rng.choice(sorted(company.devices)),
        "began_at": stamp(at),
        "minutes": rng.randrange(10, 180),
    }
    company.visits.append((at, visit, fields))
    seen[visit] = stamp(at)
    return visit


def _request(
    seed: int,
    number: int,
    at: datetime,
    companies: list[Company],
    rng: Random,
    store: Store,
    digests: dict[str, list[str]],
    seen: dict[str, str],
) -> Draft:
    company, workflow = rng.choice(companies), rng.choice(WORKFLOWS)
    accept = rng.random() < 0.5
    code = CODES[workflow]["accept" if accept else "decline"]
    caller, person = rng.choice(company.callers)
    item, kind, changes, calls = _target(workflow, accept, company, rng, at)
    told = rng.random() < 0.4
    subject, text = _text(workflow, rng, company, item, told)
    incident = token("INCIDENT", seed, number)
    seen[incident] = stamp(at)
    question = rng.choice(ASKS[kind])
    facts = (
        ()
        if told
        else (Fact(id="f1", slots=(kind,), values={kind: item}, question=question, answer=rng.choice(TELLS).format(v=item)),)
    )
    closed = at + timedelta(seconds=min(rng.expovariate(1 / 90_000), 4 * 86_400) + 600)
    said = (
        *(() if told else (question,)),
        rng.choice(TALK).format(n=rng.randrange(100, 999)),
        rng.choice(DONE[code]).format(n=rng.randrange(100, 999)),
    )
    row = {
        "number": f"INC{40_000 + 3 * number:07d}",
        "caller": caller,
        "company": company.name,
        "short_description": subject,
        "contact_type": rng.choice(("portal", "mail", "phone")),
        "opened_at": stamp(at),
    }
    state = _state(company, at, incident, row)
    provenance = {
        s: {k: {r: {f: f"ref-{token('R', r, f)[2:]}" for f in fields} for r, fields in rows.items()} for k, rows in kinds.items()}
        for s, kinds in state.items()
    }
    company.cases.append({"id": incident, "row": row, "closed": closed, "caller": caller, "at": at, "text": text, "said": said})
    if workflow == "repair" and accept:
        _visit(company, closed, f"{seed}/{number}", rng, seen)
    version = 0 if at < START + timedelta(days=120) else 1
    document = "access" if workflow == "badge" else "cover"
    ask = (ReferenceStep(call=ToolCall(tool="reply_to_requester", arguments={"text": question}), planned=True),)
    steps = (
        *(() if told else ask),
        *(ReferenceStep(call=call, planned=True) for call in calls),
        ReferenceStep(call=ToolCall(tool="close_incident", arguments={"code": code, "about": item}), planned=False),
    )
    task = TaskSpec(
        task_id=incident,
        taskset="campus_v1",
        workflow=workflow,
        started_at=stamp(at),
        organisation=company.name,
        opening=Opening(
            record=RowRef(system="itsm", kind="incident", record_id=incident),
            requester_id=caller,
            requester_name=person,
            contact=f"{person}_EMAIL",
            subject=subject,
            text=text,
            received_at=stamp(at),
        ),
        systems=(
            SystemRef(name="itsm", plugin="helpdesk", config={"codes": sorted(LABELS), "slots": {"device": ["asset tag"]}}),
            SystemRef(name="cmdb", plugin="cmdb", config={"readonly": True}),
            SystemRef(name="space", plugin="space"),
        ),
        state=(store.put(state),),
        provenance=(store.put(provenance),),
        policies=(digests["cover"][version], digests["access"][version]),
        rules=(
            RuleRef(
                id=f"{document}_reads",
                rule="required_before",
                sentence=f"Before close_incident: look at what the {document} policy names.",
                parameters={"tool": "close_incident"},
                document=document,
                version=version + 1,
                clause="1.2",
            ),
        ),
        requester=RequesterSpec(facts=facts, dont_know=("no idea, sorry", "cannot tell from here"), patience=5),
        max_steps=18,
    )
    outcome = Outcome(kind="difference", code=code, about=item, changes=changes)
    return Draft(
        task,
        Answer(task_id=incident, outcome=outcome, outcome_class="accept" if accept else "decline", reference=steps),
        closed,
        said,
        caller,
    )


def _target(
    workflow: str, accept: bool, company: Company, rng: Random, at: datetime
) -> tuple[str, str, tuple[RowChange, ...], list[ToolCall]]:
    """What the request is about, such that the state decides as `accept` says."""
    if workflow == "repair":
        item = rng.choice(sorted(d for d, row in company.devices.items() if (row["cover"] == "full") == accept))
        minutes = rng.randrange(20, 95)
        change = RowChange(system="crew", kind="visit", op="create", record_id=None, fields={"device": item, "minutes": minutes})
        look = ToolCall(tool="get_device", arguments={"device": item})
        send = ToolCall(tool="send_technician", arguments={"device": item, "minutes": minutes})
        return item, "device", (change,) if accept else (), [look, send] if accept else [look]
    if workflow == "badge":
        item = rng.choice(sorted(h for h, row in company.holders.items() if (row["level"] >= 3) == accept))
        change = RowChange(system="space", kind="holder", op="update", record_id=item, fields={"badge": True})
        return item, "holder", (change,) if accept else (), [ToolCall(tool="get_holder", arguments={"holder": item})]
    item = rng.choice(sorted(r for r, row in company.rooms.items() if (row["lease_terms"] == "free") == accept))
    change = RowChange(system="space", kind="room", op="update", record_id=item, fields={"seats": rng.randrange(31, 60)})
    return item, "room", (change,) if accept else (), [ToolCall(tool="get_room", arguments={"room": item})]


def _state(company: Company, at: datetime, incident: str, row: dict[str, Any]) -> dict[str, Any]:
    visits = {v: fields for when, v, fields in company.visits if when < at}
    cases = {incident: row}
    for case in [c for c in company.cases if c["closed"] < at][-3:]:
        journal = [
            {"at": stamp(case["at"]), "from": case["caller"], "text": case["text"]},
            *(
                {"at": stamp(case["closed"] - timedelta(minutes=9 - i)), "from": "agent", "text": t}
                for i, t in enumerate(case["said"])
            ),
        ]
        cases[case["id"]] = {**case["row"], "journal": journal}
    return {
        "itsm": {"incident": cases},
        "cmdb": {
            "device": company.devices,
            "contract": {company.contract: {"company": company.name, "ends_on": "2031-12-31", "visits_used": len(visits)}},
        },
        "space": {"room": company.rooms, "holder": company.holders},
        "crew": {"visit": visits, "job": {job: fields for when, job, fields in company.jobs if when < at}},
    }
