from __future__ import annotations

import pickle

import pytest

from schemas import errors
from schemas.errors import RecordgymError, SourceError, SpecError

EXAMPLES = [
    SpecError("a.toml", ["x.y: wrong", "z: missing"]),
    SourceError("a.jsonl", "812", "unknown status", field="status", found="Resolvd", allowed="solved, closed"),
    SourceError("a.jsonl", "", "is empty"),
    *(
        getattr(errors, name)("one line")
        for name in ("StageError", "PrivacyError", "LeakError", "WorldError", "GraderError", "RecordgymError")
    ),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_comes_whole_out_of_a_worker_process(error: RecordgymError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_the_tree_has_these_names_and_no_others() -> None:
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert tree == {
        "RecordgymError",
        "SpecError",
        "SourceError",
        "StageError",
        "PrivacyError",
        "LeakError",
        "WorldError",
        "GraderError",
    }


def test_a_source_error_tells_file_place_found_and_allowed() -> None:
    assert str(EXAMPLES[1]) == "a.jsonl:812: unknown status, field status, found Resolvd, allowed solved, closed"
