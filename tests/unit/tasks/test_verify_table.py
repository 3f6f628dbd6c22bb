"""The table of `tasks verify` says what each certificate is."""

from __future__ import annotations

from collections import Counter

from schemas.task import CHECK_IDS
from tasks.certificates import names
from tasks.verify import Verified, table


def test_each_certificate_is_printed_with_its_name() -> None:
    found = Verified(tasks=2, hold=2)
    found.matrix = Counter({(check, "passed"): 2 for check in CHECK_IDS})
    lines = table(found).splitlines()
    assert lines[0].split() == ["check", "passed", "not", "applicable", "failed", "could", "not", "run"]
    for line, check in zip(lines[1:], CHECK_IDS, strict=False):
        assert line.startswith(f"{check} ")
        assert names()[check] in line
        assert line.split()[-4:] == ["2", "0", "0", "0"]
    assert lines[1].startswith("C1   reference replay ")
    assert len({len(line) for line in lines[: 1 + len(CHECK_IDS)]}) == 1, "the columns stand below one another"
    assert set(names()) == set(CHECK_IDS)
