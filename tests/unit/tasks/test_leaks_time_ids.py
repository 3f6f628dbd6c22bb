"""Leak checks: ids that are made of a time, and hashes that only look like them."""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tasks.leaks import LeakInput, run_check
from tasks.leaks._plant import with_content, with_field, with_task, with_text
from tasks.leaks._times import times_in
from tasks.leaks._walk import must_instant
from tasks.leaks.late_identifier import LEAK as IDENTIFIERS
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


GLUED: dict[str, Callable[[datetime], str]] = {
    "UUID 7 with underscores": lambda at: hyphened(uuid7(at)).replace("-", "_"),
    "UUID 1 with underscores behind a prefix": lambda at: f"case_{hyphened(uuid1(at)).replace('-', '_')}",
    "UUID 7 glued to a letter": lambda at: f"X{uuid7(at)}",
    "UUID 7 glued to a word that ends in a figure of it": lambda at: f"case{uuid7(at)}",
    "UUID 7 with hyphens glued to a word": lambda at: f"case{hyphened(uuid7(at))}",
    "UUID 6 glued to a prefix in capitals": lambda at: f"EVT{uuid6(at).upper()}",
    "ULID glued to a word": lambda at: f"tkt{ulid(at).upper()}",
    "ULID in capitals glued to capitals": lambda at: f"TKT{ulid(at).upper()}",
    "ULID in small letters glued to a word": lambda at: f"tkt{ulid(at)}",
    "ULID behind a prefix": lambda at: f"tkt_{ulid(at).upper()}",
}


@pytest.mark.parametrize("made", GLUED)
def test_an_id_with_other_marks_in_it_or_glued_to_a_prefix_is_found_after_the_cut_and_fine_before_it(made: str) -> None:
    after, before = (GLUED[made](CUT + timedelta(days=days)) for days in (20, -20))
    for said in (after, f"See {after}."):
        assert failed(noted(said)) == NOTE
    assert failed(rowed(after)) == ["state/desk/item"]
    for said in (before, f"See {before}."):
        assert failed(noted(said)) == []
    assert failed(rowed(before)) == []


def test_hashes_and_random_ids_behind_a_prefix_and_longer_runs_say_no_time() -> None:
    chance = Random(2)
    for number in range(2000):
        digest = hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()
        assert not late(digest)
        assert not late(f"x{digest}")
        assert not late(f"case{hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()}")
        assert not late(f"case{uuid.UUID(int=chance.getrandbits(128), version=4)}".replace("-", "_"))
        assert not late("tkt" + "".join(chance.choices(LETTERS, k=26)))
    soon = CUT + timedelta(days=20)
    assert not late(f"9{uuid7(soon)}")
    assert not late(f"4a{uuid7(soon)}")
    assert not late(f"{uuid7(soon)}0")
    assert not late(f"abcdefghijklmnop{ulid(soon)}")


def test_a_prefix_does_not_hide_that_a_column_holds_hashes() -> None:
    alone = noted(f"X{uuid7(CUT + timedelta(days=20))}")
    assert failed(alone) == NOTE
    plain = "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d"
    assert failed(noted(f"X{plain}", 2, noted(f"X{plain[::-1]}", 1, alone))) == []


def rowed(name: str, data: LeakInput = SMALL) -> LeakInput:
    more, digest = with_content(data, {"desk": {"item": {name: {"count": 3}}}})
    return with_task(more, 0, lambda task: task.model_copy(update={"state": (*task.state, digest)}))


DRESSED: dict[str, Callable[[str], str]] = {
    "percent": lambda text: "".join(f"%{ord(c):02X}" for c in text),
    "percent, marks alone": lambda text: "".join(c if c.isalnum() else f"%{ord(c):02X}" for c in text),
    "Base64": lambda text: base64.b64encode(text.encode()).decode(),
    "Base64 of URLs without its end": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("dress", DRESSED)
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m", "batch %Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
def test_a_late_time_is_found_in_the_id_of_a_row_or_a_key_through_its_coding(dress: str, form: str) -> None:
    for days, found in ((100, True), (-100, False)):
        name = DRESSED[dress]((CUT + timedelta(days=days)).strftime(form))
        assert bool(failed(rowed(name))) == found, name
        assert bool(failed(with_field(SMALL, 0, "orders", "order", "tags", {name: 1}))) == found, name


@pytest.mark.parametrize("dress", DRESSED)
@pytest.mark.parametrize("name", ["ORDER_D2947CF8", "WO-2024-77"])
def test_an_identifier_that_comes_later_is_found_in_the_id_of_a_row_through_its_coding(dress: str, name: str) -> None:
    for days, paths in ((100, ["state/desk/item"]), (-100, [])):
        data = replace(SMALL, first_seen={**SMALL.first_seen, name: (CUT + timedelta(days=days)).isoformat()})
        findings = run_check(IDENTIFIERS, rowed(DRESSED[dress](name), data))
        assert [f.path for f in findings if f.verdict == "failed"] == paths
        record = SMALL.tasks[0].opening.record.model_copy(update={"record_id": DRESSED[dress](name)})
        opened = with_task(
            data, 0, lambda t, r=record: t.model_copy(update={"opening": t.opening.model_copy(update={"record": r})})
        )
        assert bool([f for f in run_check(IDENTIFIERS, opened) if f.verdict == "failed"]) == bool(paths)


@pytest.mark.parametrize("name", ["customer12", "abcDEF1234", "SW5lZGVkTm90", "item-0000000001", "a_b_c_d_e_f", "K7hG2mQz9LpX"])
def test_a_short_id_that_could_be_base64_by_its_characters_says_nothing_late(name: str) -> None:
    assert failed(rowed(name)) == []
