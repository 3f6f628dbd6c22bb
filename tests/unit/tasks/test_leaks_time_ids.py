"""Leak checks: ids that are made of a time, and hashes that only look like them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tasks.leaks import LeakInput, run_check
from tasks.leaks._plant import with_field, with_text
from tasks.leaks._times import times_in
from tasks.leaks._walk import must_instant
from tasks.leaks.late_time import LEAK
from tests.unit.tasks.leak_inputs import leak_input

SMALL = leak_input(tasks=40)
CUT = must_instant(SMALL.tasks[0].started_at, "cut")
NOTE = ["state/orders/order/note"]
LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def ulid(at: datetime) -> str:
    left, text = int(at.timestamp() * 1000), ""
    for _ in range(10):
        left, digit = divmod(left, 32)
        text = LETTERS[digit] + text
    return f"{text}7zk2m4q8xw0vhd3r"


def uuid7(at: datetime) -> str:
    return f"{int(at.timestamp() * 1000):012x}7a4c8f000123456789ab"


def uuid1(at: datetime) -> str:
    ticks = f"{(at - datetime(1582, 10, 15, tzinfo=UTC)) // timedelta(microseconds=1) * 10:015x}"
    return f"{ticks[7:]}{ticks[3:7]}1{ticks[:3]}8f000123456789ab"


def uuid6(at: datetime) -> str:
    ticks = f"{(at - datetime(1582, 10, 15, tzinfo=UTC)) // timedelta(microseconds=1) * 10:015x}"
    return f"{ticks[:12]}6{ticks[12:]}8f000123456789ab"


def hyphened(figures: str) -> str:
    return str(uuid.UUID(figures))


def failed(data: LeakInput) -> list[str]:
    findings = run_check(LEAK, data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def noted(text: str, index: int = 0, data: LeakInput = SMALL) -> LeakInput:
    return with_field(data, index, "orders", "order", "note", text)


def late(text: str) -> bool:
    return any(time.after(CUT) for time in times_in(text))


MADE: dict[str, Callable[[datetime], str]] = {
    "ULID": lambda at: ulid(at).upper(),
    "ULID in small letters": ulid,
    "TypeID": lambda at: f"order_{ulid(at)}",
    "UUID 7": lambda at: hyphened(uuid7(at)),
    "UUID 7 behind a prefix": lambda at: f"evt_{hyphened(uuid7(at))}",
    "UUID 7 without hyphens": uuid7,
    "UUID 7 without hyphens in capitals": lambda at: uuid7(at).upper(),
    "UUID 6 without hyphens": uuid6,
    "UUID 1 without hyphens": uuid1,
    "UUID 1 without hyphens behind a prefix": lambda at: f"msg_{uuid1(at)}",
}


@pytest.mark.parametrize("made", MADE)
def test_an_id_made_of_a_time_is_found_after_the_cut_and_fine_before_it(made: str) -> None:
    after, before = (MADE[made](CUT + timedelta(days=days)) for days in (20, -20))
    for said in (after, f"See {after}.", f"https://desk.example/items/{after}/edit"):
        assert failed(noted(said)) == NOTE
        assert failed(with_text(SMALL, 0, f"{{}} {said}".format)) == ["opening/text"]
    assert failed(noted("x", data=with_field(SMALL, 0, "orders", "order", "tags", {after: 1})))
    for said in (before, f"See {before}."):
        assert failed(noted(said)) == []


def test_hashes_and_random_ids_say_no_time() -> None:
    chance = Random(1)
    for number in range(2000):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        assert not late(hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest())
        assert not late(digest)
        assert not late(digest[:26])
        assert not late(digest[:32])
        random_id = uuid.UUID(int=chance.getrandbits(128), version=4)
        assert not late(random_id.hex)
        assert not late(str(random_id))
        assert not late("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=26)))


def test_a_piece_of_a_hash_that_begins_like_a_ulid_is_none() -> None:
    assert not late("01" + "9e8bb37718" + "7a4c8f00012345")
    assert not late(ulid(CUT + timedelta(days=20))[:-1])
    assert not late(ulid(CUT + timedelta(days=20)) + "0")
    assert not late(f"x{ulid(CUT + timedelta(days=20))}")


@pytest.mark.parametrize("made", ["UUID 7 without hyphens", "ULID in small letters"])
def test_among_hashes_what_looks_like_an_id_made_of_a_time_is_a_hash(made: str) -> None:
    shaped = MADE[made](CUT + timedelta(days=20))
    plain = "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d" if "UUID" in made else "hj7zk2m4q8xw0vhd3r7zk2m4q8"
    alone = noted(shaped)
    assert failed(alone) == NOTE
    assert failed(noted(MADE[made](CUT - timedelta(days=20)), 1, alone)) == NOTE
    assert failed(noted(plain, 2, noted(plain[::-1], 1, alone))) == []
