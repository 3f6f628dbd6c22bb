"""A judge beside the checks: repeatable, versioned, and never able to make a wrong episode right."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from environments.agents import ReferenceAgent, run_episode
from environments.endpoint import Endpoint
from environments.episode import Episode
from rewards.score import Grader, load_grader
from schemas.episode import Journal
from schemas.errors import LeakError, SourceError, StageError
from schemas.files import write_json
from schemas.taskset import TaskSet
from tests.endpoint_stub import Stub, opened, raw, said
from training import judge_fit, ppo
from training.config import Config
from training.judges import SCORES, LearnedJudge, ModelJudge, ScoreBook, case_text, features, open_judge
from training.run_files import json_lines

from .conftest import read_rows


@pytest.fixture
def stub() -> Iterator[Stub]:
    yield from opened()


@pytest.fixture
def journal(taskset: TaskSet, grader: Grader) -> Journal:
    task_id = sorted(taskset.tasks)[0]
    agent = ReferenceAgent(grader.criteria(task_id).answer.reference)
    return run_episode(Episode(taskset, grader), agent, task_id).journal


def model(stub: Stub) -> ModelJudge:
    return ModelJudge(Endpoint(stub.url, "m", "", 5.0), "m 1")


def test_a_model_is_shown_what_the_agent_saw_and_never_the_answer(stub: Stub, taskset: TaskSet, journal: Journal) -> None:
    stub.answer = said('It went well. {"score": 0.25}')
    task = taskset.tasks[journal.task_id]
    assert model(stub)(task, journal) == 0.25
    sent = stub.got[0]["messages"][1]["content"]
    assert sent == case_text(task, journal)
    assert task.opening.subject in sent
    quiet = journal.model_copy(update={"entries": journal.entries[:1]})
    untold = [fact.answer for fact in task.requester.facts if fact.id not in journal.entries[0].told]
    assert not any(answer in case_text(task, quiet) for answer in untold)


@pytest.mark.parametrize("text", ["fine", '{"score": 1.5}', '{"score": true}', '{"score": "1"}', "{", '{"mark": 1}'])
def test_an_answer_without_a_score_stops_the_run_and_is_no_score(
    stub: Stub, text: str, taskset: TaskSet, journal: Journal
) -> None:
    stub.answer = said(text)
    with pytest.raises(StageError, match="gave no score"):
        model(stub)(taskset.tasks[journal.task_id], journal)


def test_an_endpoint_that_fails_stops_the_run(stub: Stub, taskset: TaskSet, journal: Journal) -> None:
    stub.answer = raw("no", 500)
    with pytest.raises(StageError, match="status 500"):
        model(stub)(taskset.tasks[journal.task_id], journal)


def test_the_same_calls_are_scored_once_also_after_a_kill(stub: Stub, taskset: TaskSet, journal: Journal, tmp_path: Path) -> None:
    stub.answer = said('{"score": 0.5}')
    task, path = taskset.tasks[journal.task_id], tmp_path / SCORES
    assert [ScoreBook(model(stub), path)(task, journal) for _ in range(3)] == [0.5] * 3
    assert len(stub.got) == 1
    with path.open("a") as file:
        file.write('{"episode": "cut of')
    book = ScoreBook(model(stub), path)
    shorter = journal.model_copy(update={"entries": journal.entries[:1]})
    assert (book(task, journal), book(task, shorter)) == (0.5, 0.5)
    assert len(stub.got) == 2
    rows = json_lines(path) or []
    assert [(row["task"], row["judge"], row["score"]) for row in rows] == [(task.task_id, "m 1", 0.5)] * 2


def test_a_judge_takes_quality_and_gives_none(taskset: TaskSet, journal: Journal) -> None:
    best, worst = (load_grader(taskset, lambda *_, s=s: s).grade(journal) for s in (1.0, 0.0))  # type: ignore[misc]
    plain = load_grader(taskset).grade(journal)
    assert best == plain
    assert plain.success
    assert worst.success
    assert worst.full
    assert worst.return_ < plain.return_
    empty = journal.model_copy(update={"entries": journal.entries[:-1], "ended_by": "step_limit"})
    assert load_grader(taskset, lambda *_: 1.0).grade(empty) == load_grader(taskset).grade(empty)


def test_a_run_with_a_judge_keeps_its_scores_and_goes_on_to_the_same_bits(stub: Stub, tiny: Config) -> None:
    stub.answer = said('{"score": 0.5}')
    judged = dataclasses.replace(tiny, judge=f"llm:m@{stub.url}")
    whole = ppo.train(dataclasses.replace(judged, run="whole", iterations=2))
    part = ppo.train(dataclasses.replace(judged, run="part", iterations=2))
    shutil.rmtree(part / "step_2")
    stub.answer = raw("no", 500)  # what was scored is not asked for again
    ppo.train(dataclasses.replace(judged, run="part", iterations=2))
    strip = [{k: v for k, v in row.items() if "seconds" not in k} for row in read_rows(whole)]
    assert strip == [{k: v for k, v in row.items() if "seconds" not in k} for row in read_rows(part)]
    assert {row["score"] for row in json_lines(whole / SCORES) or []} <= {0.5}


@pytest.mark.parametrize(
    ("name", "says"),
    [("gpt", "allowed are"), ("llm:m", "allowed are"), ("llm:@http://x", "allowed are"), ("learned:nowhere", "is missing")],
)
def test_what_names_no_judge_is_one_line(tiny: Config, name: str, says: str) -> None:
    with pytest.raises(StageError, match=says):
        ppo.train(dataclasses.replace(tiny, judge=name))


def test_an_edited_judge_is_refused(tmp_path: Path) -> None:
    made = judge_fit.fit(*labelled(60, lambda row: row["features"]["refused"] < 1))
    write_json(tmp_path / "judge.json", made | {"weights": {**made["weights"], "bias": 9.0}})
    with pytest.raises(StageError, match="not what was fitted"):
        open_judge(f"learned:{tmp_path}")


def test_labels_of_held_out_tasks_train_nothing(tiny: Config, small_folder: Path, tmp_path: Path) -> None:
    held = sorted(json.loads((small_folder / "heldout" / "manifest.json").read_text())["ids"])
    made = judge_fit.fit(*labelled(60, lambda row: row["features"]["refused"] < 1, tasks=held))
    write_json(tmp_path / "judge.json", made)
    finished = ppo.train(dataclasses.replace(tiny, run="kept", iterations=1))
    for resume in ("auto", "never"):
        with pytest.raises(LeakError, match="held out here"):
            ppo.train(dataclasses.replace(tiny, run="kept", iterations=1, resume=resume, judge=f"learned:{tmp_path}"))
    assert (finished / "step_1" / "state.pt").is_file()  # a refused judge touches no run


@pytest.mark.parametrize("text", ["[]", "null", '"x"', '{"sha256": "1"}', '{"weights": {}}', "{"])
def test_a_damaged_judge_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "judge.json").write_text(text)
    with pytest.raises((StageError, SourceError), match="judge"):
        open_judge(f"learned:{tmp_path}")


def test_a_damaged_file_of_scores_is_one_line_and_keeps_what_it_holds(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / SCORES).write_text('{"a": 1}\n')
    with pytest.raises(StageError, match="holds no score"):
        ScoreBook(model(stub), tmp_path / SCORES)
    assert (tmp_path / SCORES).read_text() == '{"a": 1}\n'


def labelled(count: int, right: Any, tasks: Sequence[str] = ()) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """Labels and queue rows of episodes that differ in refusals and steps."""
    rows = [
        {
            "episode": f"e{i}",
            "task_id": tasks[i % len(tasks)] if tasks else f"t{i}",
            "organisation": f"o{i % 12}",
            "features": {"refused": float(i % 3), "steps": (i % 7) / 10},
        }
        for i in range(count)
    ]
    names = ("task", "episode", "label", "reviewer", "note")
    said = [dict(zip(names, (r["task_id"], r["episode"], "right" if right(r) else "wrong", "me", ""), strict=True)) for r in rows]
    return said, rows


def test_what_people_say_is_learnt_and_judged_on_other_organisations(tmp_path: Path, taskset: TaskSet, journal: Journal) -> None:
    made = judge_fit.fit(*labelled(60, lambda row: row["features"]["refused"] < 1))
    assert made["right"] > 0.9 * made["labelled"] > made["commoner_right"]
    write_json(tmp_path / "judge.json", made)
    judge = open_judge(f"learned:{tmp_path}")
    assert isinstance(judge, LearnedJudge)
    assert judge.version.startswith("learned ")
    assert judge(taskset.tasks[journal.task_id], journal) > 0.5
    assert features(journal, 10)["refused"] == 0.0


def test_labels_that_say_nothing_make_no_judge() -> None:
    with pytest.raises(StageError, match="refused"):
        judge_fit.fit(*labelled(60, lambda row: int(row["episode"][1:]) // 3 % 2))
    with pytest.raises(StageError, match="needs 20"):
        judge_fit.fit(*labelled(19, lambda row: row["features"]["refused"] < 1))
    with pytest.raises(StageError, match="of 1 kinds"):
        judge_fit.fit(*labelled(60, lambda row: True))


def test_the_queue_to_learn_from_holds_no_held_out_task(tiny: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ppo.train(dataclasses.replace(tiny, run="asked", iterations=0))
    with pytest.raises(StageError, match="kept no validation tasks"):  # the small set has one organisation to train on
        judge_fit.main(["asked"])
    monkeypatch.setattr(judge_fit, "split_validation", lambda taskset, share, seen: ([], sorted(taskset.tasks)[:6]))
    assert judge_fit.main(["asked"]) == 0
    rows = json_lines(folder / judge_fit.QUEUE) or []
    assert rows
    assert {row["slice"] for row in rows} == {"train"}
    with (folder / judge_fit.FORM).open(newline="") as file:
        assert [line["episode"] for line in csv.DictReader(file)] == [row["episode"] for row in rows]
    form = folder / judge_fit.FORM
    filled = form.read_text().replace(",,,\n", ",right,me,\n", 1)
    form.write_text(filled)
    assert judge_fit.main(["asked"]) == 0  # what somebody wrote is kept
    assert [path.read_text() for path in folder.glob("judge_queue-*.csv")] == [filled]
    with pytest.raises(StageError, match="allowed is 1 or more"):
        judge_fit.main(["asked", "--samples", "0"])
    with pytest.raises(StageError, match="needs 20"):
        judge_fit.main(["asked", "--read", str(folder / judge_fit.FORM), "--out", str(tmp_path / "judge")])
    assert json.loads(json.dumps(rows[0]["features"]))["steps"] > 0
