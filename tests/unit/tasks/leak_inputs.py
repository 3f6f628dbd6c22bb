"""A clean synthetic task set for the tests of leak checks: two workflows, random outcomes, wording that tells nothing."""

from __future__ import annotations

import os
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from schemas.episode import RowRef
from schemas.files import sha256_json, sha256_text
from schemas.records import CodeBook, FieldRule, OutcomeCode
from schemas.spec import Spec
from schemas.task import Answer, Fact, Opening, Outcome, RequesterSpec, RuleRef, SystemRef, TaskSpec
from tasks.leaks import ColumnHistory, LeakInput

CANARY = "0b1f2f4e-8d0a-4c39-9d0e-2f6f8f0f8a11"
BOUNDARY = datetime(2025, 9, 1, tzinfo=UTC)
CODES = {
    "refund": {"refund_granted": "grant", "refund_refused_window": "refuse"},
    "cancel": {"order_cancelled": "grant", "cancel_refused_shipped": "refuse"},
}
FIELDS = {
    "helpdesk.ticket.subject": FieldRule(type="text", known_at="start"),
    "helpdesk.ticket.created_at": FieldRule(type="time", known_at="start"),
    "helpdesk.ticket.resolution_code": FieldRule(type="code", known_at="post_hoc"),
    "helpdesk.ticket.internal_score": FieldRule(type="number", known_at="never"),
    "helpdesk.ticket.number": FieldRule(type="int", known_at="start"),
    "accounts.account.orders": FieldRule(type="int", aggregate="count orders.order by account_id"),
    "orders.order.status": FieldRule(type="code"),
    "orders.order.account_id": FieldRule(type="id", identity="account"),
    "orders.order.placed_at": FieldRule(type="time"),
    "orders.order.promised_at": FieldRule(type="time", planned_future=True),
    "orders.order.total_minor": FieldRule(type="money"),
}
BOOK = CodeBook(
    supplier="sample",
    fields=FIELDS,
    outcomes={
        code: OutcomeCode(workflow=workflow, outcome_class=kind, label=code.replace("_", " ").capitalize())
        for workflow, codes in CODES.items()
        for code, kind in codes.items()
    },
)
WORDS = [
    *("kettle", "lamp", "table", "chair", "desk", "shelf", "parcel", "courier", "morning", "evening", "neighbour", "garden"),
    *("kitchen", "window", "letter", "colour", "green", "blue", "heavy", "light", "broken", "early", "quick", "slow", "friend"),
    *("office", "street", "corner", "market", "season", "winter", "summer", "price", "paper", "cardboard", "handle", "cable"),
    *("battery", "screen", "keyboard", "printer", "coffee", "machine", "spoon", "plate", "carpet", "curtain", "mirror"),
]


def git(folder: Path, *arguments: str) -> str:
    """Real git, with an author and a clock that never change."""
    stamp = "2025-01-05T10:00:00Z"
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_DATE": stamp,
    }
    command = ["git", "-c", "core.logAllRefUpdates=false", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def committed(folder: Path, text: str) -> str:
    """Id of a new commit of one file."""
    (folder / "main.py").write_text(text, encoding="utf-8")
    git(folder, "add", "main.py")
    git(folder, "commit", "-q", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")


def git_repository(folder: Path) -> tuple[Path, str]:
    """A repository of two commits without a reflog, and its base: the second."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    committed(folder, "a = 1\n")
    return folder, committed(folder, "a = 2\n")


def token(kind: str, *parts: object) -> str:
    return f"{kind}_{sha256_text('/'.join(map(str, (kind, *parts))))[:8].upper()}"


def sentence(chance: random.Random, length: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(length)).capitalize() + "."


def leak_input(seed: int = 1, tasks: int = 160, repository: tuple[Path, str] | None = None) -> LeakInput:
    """A clean set of `tasks` tasks, a quarter of them held out in each of two ways."""
    chance = random.Random(seed)
    contents: dict[str, Any] = {}

    def put(value: Any) -> str:
        digest = sha256_json(value)
        contents[digest] = value
        return digest

    versions = {
        version: put(
            {"document": "refunds", "version": version, "title": "Refunds", "clauses": [{"clause": "1.1", "text": text}]}
        )
        for version, text in ((1, "A late parcel is refunded within 30 days of its delivery."), (2, "Now it is 21 days."))
    }
    made, answers, later, first_seen, closed = [], {}, {}, {}, {}
    numbers: list[tuple[str, int]] = []
    for number in range(tasks):
        workflow = chance.choice(sorted(CODES))
        code = chance.choice(sorted(CODES[workflow]))
        unseen, timed = number % 4 == 0, number % 4 == 1
        start = (
            BOUNDARY + timedelta(days=10 + chance.randrange(60))
            if timed
            else BOUNDARY - timedelta(days=60 + chance.randrange(150))
        )
        start += timedelta(seconds=chance.randrange(86400))
        at = start.isoformat()
        organisation = token("ORG", "unseen" if unseen else "seen", chance.randrange(6))
        ticket, user, order = token("TICKET", seed, number), token("USER", seed, number), token("ORDER", seed, number)
        version = 2 if start >= BOUNDARY else 1
        subject, text = sentence(chance, 3), " ".join(sentence(chance, 9) for _ in range(3))
        state = {
            "helpdesk": {"ticket": {ticket: {"subject": subject, "created_at": at}}},
            "orders": {
                "order": {
                    order: {
                        "status": chance.choice(["placed", "shipped"]),
                        "account_id": token("ACCOUNT", number),
                        "placed_at": (start - timedelta(days=20)).isoformat(),
                        "promised_at": (start + timedelta(days=3)).isoformat(),
                        "total_minor": chance.randrange(500, 90000),
                    }
                }
            },
        }
        counter = int((start - datetime(2025, 1, 1, tzinfo=UTC)).total_seconds()) // 10
        numbers.append((at, counter))
        state["helpdesk"]["ticket"][ticket]["number"] = counter
        state["accounts"] = {"account": {token("ACCOUNT", number): {"orders": 1}}}
        task_id = f"task-{sha256_text(f'{seed}/{number}')[:12]}"
        fact = Fact(
            id="f1", slots=("order_id",), values={"order_id": order}, question="Which order is it?", answer=f"It is {order}."
        )
        made.append(
            TaskSpec(
                task_id=task_id,
                taskset="clean",
                workflow=workflow,
                started_at=at,
                organisation=organisation,
                opening=Opening(
                    record=RowRef(system="helpdesk", kind="ticket", record_id=ticket),
                    requester_id=user,
                    requester_name=token("PERSON", number),
                    contact=token("PERSON", number) + "_EMAIL",
                    subject=subject,
                    text=text,
                    received_at=at,
                ),
                systems=(SystemRef(name="helpdesk", plugin="helpdesk", config={"codes": sorted(BOOK.outcomes)}),),
                state=(put(state),),
                policies=(versions[version],),
                rules=(
                    RuleRef(id="r", rule="limit", sentence="s", parameters={}, document="refunds", version=version, clause="1.1"),
                ),
                requester=RequesterSpec(facts=(fact,)),
                slice="unseen_organisations" if unseen else "unseen_months" if timed else "train",
            )
        )
        answers[task_id] = Answer(
            task_id=task_id,
            outcome=Outcome(kind="difference", code=code, about=order),
            outcome_class=CODES[workflow][code],
            reference=(),
        )
        later[task_id] = (
            f"Hello, thank you for getting in touch with our team. {sentence(chance, 12)} Kind regards from all of us here.",
        )
        first_seen.update(
            {ticket: at, user: (start - timedelta(days=90)).isoformat(), order: (start - timedelta(days=20)).isoformat()}
        )
        closed[task_id] = (start + timedelta(days=2)).isoformat()
    files = {
        "train/tasks.jsonl": "{}\n",
        "heldout/tasks.jsonl": f'{{"canary":"{CANARY}"}}\n',
        "heldout/answers.jsonl": f'{{"canary":"{CANARY}"}}\n',
        "heldout/manifest.json": f'{{"canary":"{CANARY}"}}\n',
        "splits.json": "{}\n",
    }
    return LeakInput(
        tasks=tuple(made),
        answers=answers,
        content=contents.__getitem__,
        code_book=BOOK,
        later_messages=later,
        first_seen=first_seen,
        groups={"requester": {task.task_id: task.opening.requester_id for task in made}},
        closed_at=closed,
        boundary=BOUNDARY.isoformat(),
        embargo_s=dict.fromkeys(CODES, 30 * 86400.0),
        policy_times={"refunds v1": (None, BOUNDARY.isoformat()), "refunds v2": (BOUNDARY.isoformat(), None)},
        files=files,
        canary=CANARY,
        aggregates={"accounts.account.orders": ("orders.order", "account_id")},
        sequences={"helpdesk.ticket.number": tuple(sorted(numbers))},
        columns={"orders.order.status": ColumnHistory(rows=400, early=0, records=100, constant=40, declared=False)},
        file_times={made[0].task_id: {"src/main.py": (BOUNDARY - timedelta(days=400)).isoformat()}},
        repositories={made[0].task_id: repository} if repository is not None else {},
        fitted_on={"forms": tuple(task.task_id for task in made if task.slice == "train")},
        forms={"ask": {"order_id": ["Which order is it about?"]}, "tell": {}},
        seed=seed,
    )


def spec(**more: Any) -> Spec:
    return Spec.model_validate(
        {
            "name": "clean",
            "supplier": "sample",
            "export": "x",
            "sources": [],
            "select": {"record_system": "helpdesk", "record_kind": "ticket"},
            "systems": [],
            "workflows": [],
            **more,
        }
    )
