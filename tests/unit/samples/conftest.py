"""One sample of the default size, made once, and what tests read of it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from samples.publish import make_sample
from samples.settings import Settings
from schemas.files import read_models
from schemas.records import CodeBook

Row = dict[str, Any]


@dataclass
class Sample:
    """The written folders, read on demand."""

    out: Path
    truth_folder: Path
    _tables: dict[str, list[Row]] = field(default_factory=dict)

    def truth(self, name: str) -> list[Row]:
        if name not in self._tables:
            self._tables[name] = [
                json.loads(line) for line in (self.truth_folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if line
            ]
        return self._tables[name]

    @cached_property
    def bad_places(self) -> set[tuple[str, str]]:
        return {(row["file"], row["place"]) for row in self.truth("bad_rows")}

    def rows(self, name: str) -> list[Row]:
        """Rows of a helpdesk page kind, without repetitions and without the lines that the truth lists as bad."""
        found: dict[int, Row] = {}
        for path in sorted((self.out / "helpdesk").glob(f"{name}-*.ndjson")):
            for number, raw in enumerate(path.read_bytes().splitlines(), 1):
                if (f"helpdesk/{path.name}", str(number)) not in self.bad_places:
                    try:
                        row = json.loads(raw.decode())
                    except UnicodeDecodeError:
                        row = json.loads(raw.decode("cp1252"))
                    found[row["id"]] = row
        return list(found.values())

    @cached_property
    def audits(self) -> dict[str, list[Row]]:
        """Ticket id -> its audits in order."""
        grouped: dict[str, list[Row]] = defaultdict(list)
        for row in sorted(self.rows("ticket_audits"), key=lambda row: row["id"]):
            grouped[str(row["ticket_id"])].append(row)
        return grouped

    @cached_property
    def bodies(self) -> dict[str, str]:
        return {row["event_id"]: row["plain"] for row in self.truth("bodies")}

    def comments(self, ticket: str) -> list[tuple[Row, Row, str]]:
        """(audit, event, plain text) of each comment."""
        return [
            (audit, event, self.bodies.get(str(event["id"]), event["plain_body"] or ""))
            for audit in self.audits[ticket]
            for event in audit["events"]
            if event["type"] == "Comment"
        ]

    @cached_property
    def code_book(self) -> CodeBook:
        return next(iter(read_models(self._one_line(), CodeBook)))

    def _one_line(self) -> Path:
        path = self.truth_folder.parent / "codebook.line"
        path.write_text(json.dumps(json.loads((self.out / "codebook.json").read_text(encoding="utf-8"))) + "\n", encoding="utf-8")
        return path

    @cached_property
    def clean(self) -> list[Row]:
        return [row for row in self.truth("tickets") if row["clean"]]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    folder = tmp_path_factory.mktemp("sample")
    make_sample(Settings(), folder / "raw", folder / "truth")
    return Sample(folder / "raw", folder / "truth")
