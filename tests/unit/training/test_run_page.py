"""The page, the card and the queue of a run: one file, the same bytes twice, nothing that was not run reads as passed."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import run_command
from schemas.errors import StageError
from schemas.files import sha256_file
from training import audit, charts, page_episodes, ppo, review
from training import compare as compare_runs
from training.card import card, card_text
from training.compare import compare
from training.config import Config
from training.evaluate import evaluate_run
from training.page import page
from training.report import write_report
from training.review import disagreement, read_form, store, wilson
from training.review_queue import COLUMNS, FORM, form, write_queue
from training.run_files import RunFiles, load_run
from training.transcripts import GROUPS, choose
from training.verdict import verdict

HOSTILE = '<script>alert("x")</script>&<img src=x onerror=y>'


@pytest.fixture(scope="module")
def bare(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that was not evaluated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(tmp_path_factory.mktemp("page")))
        small = {"width": 32, "layers": 1, "heads": 2, "context": 384, "min_count": 1, "warm_epochs": 1, "iterations": 2}
        sizes = {"episodes": 4, "minibatch": 4, "microbatch": 4, "eval_every": 0}
        folder = ppo.train(Config(taskset=str(small_folder), run="bare", quiet=True, **small, **sizes))  # type: ignore[arg-type]
        write_report(folder)
        yield folder


@pytest.fixture(scope="module")
def evaluated(bare: Path) -> Path:
    """The same run, evaluated."""
    folder = bare.parent / "evaluated"
    shutil.copytree(bare, folder)
    evaluate_run(folder, samples=1, quiet=True)
    write_report(folder)
    return folder


def queue_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "review.jsonl").read_text().split("\n")[:-1]]


class Balanced(HTMLParser):
    """Refuses tags that are not closed in order; collects what a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "iframe", "object", "img", "form"):
            self.bad.append(tag)
        self.bad += [f"{k}={v}" for k, v in attrs if k.startswith("on") or k in ("src", "action", "srcset")]
        self.bad += [f"{k}={v}" for k, v in attrs if k == "href" and not (v or "").startswith("#")]
        if tag not in ("meta", "br", "line", "circle", "rect", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "circle", "rect", "polyline"):
            assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    return parser


def test_the_page_is_one_file_without_scripts_or_network_references(evaluated: Path) -> None:
    text = (evaluated / "report.html").read_text()
    assert parsed(text).bad == []
    assert not re.search(r"https?://|//[a-z]+\.|url\(|@import", text)


def test_the_same_run_gives_the_same_bytes_twice(evaluated: Path) -> None:
    names = ("report.html", "card.json", "card.md", "report.md")
    before = [sha256_file(evaluated / name) for name in names]
    write_report(evaluated)
    assert [sha256_file(evaluated / name) for name in names] == before


def test_the_same_evaluation_keeps_the_same_episodes(evaluated: Path) -> None:
    names = ("transcripts.jsonl", "review.jsonl", "review.csv", "evaluation.json")
    before = [sha256_file(evaluated / name) for name in names]
    evaluate_run(evaluated, samples=1, quiet=True)
    assert [sha256_file(evaluated / name) for name in names] == before


def test_what_was_not_run_is_said_and_is_not_good(bare: Path) -> None:
    run = load_run(bare)
    said = verdict(run)
    assert (said.level, said.title) == ("open", "NOT EVALUATED")
    text = (bare / "report.html").read_text()
    for part in ("Held-out evaluation", "Episodes", "Review queue", "Comparison with other seeds and controls"):
        assert f"{part}: not run" in text
    assert parsed(text).bad == []
    levels = {line.text.partition(":")[0]: line.level for line in said.lines}
    assert levels["Held-out evaluation"] == levels["Review by people"] == levels["Audit log"] == "open"
    made = card(run)
    assert made["results"] is None
    assert "Not evaluated on held-out tasks: nothing is known about what it is worth." in made["limits"]
    assert "Not run." in card_text(made)


def test_a_run_of_an_older_version_renders_with_what_is_missing(bare: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bare, tmp_path / "old"))
    for name in ("made.json", audit.NAME, "metrics.jsonl"):
        (folder / name).unlink()
    write_report(folder)
    text = (folder / "report.html").read_text()
    assert "not kept, so what was trained on cannot be checked" in text
    assert "Alarms: not run" in text
    assert json.loads((folder / "card.json").read_text())["hardware"] is None


def test_page_and_card_hold_what_a_reader_asks_for(evaluated: Path) -> None:
    text = (evaluated / "report.html").read_text()
    for part in ("Greedy success", "Sampled success", "Violations an episode", "Recall", "Which tools are called", "Run card"):
        assert part in text
    for part in ("Refused calls an episode, by kind", "Violations an episode, by rule", "Before</h4>", "wanted", "given"):
        assert part in text
    made = json.loads((evaluated / "card.json").read_text())
    assert (made["data"]["train_tasks"], made["data"]["evaluated_tasks"], made["seeds"]) == (18, 6, [1])
    assert made["hardware"][0]["threads"] == 1
    assert made["trained_on"]["faults"] == []
    assert str(evaluated.parent) not in text + (evaluated / "card.md").read_text()


def test_text_of_a_record_cannot_become_a_tag(evaluated: Path) -> None:
    run = load_run(evaluated)

    def hostile(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: HOSTILE if k in ("text", "subject", "code", "rule", "sentence", "tool") else hostile(v)
                for k, v in value.items()
            }
        return [hostile(one) for one in value] if isinstance(value, list) else value

    dirty = dataclasses.replace(
        run,
        name=HOSTILE,
        config={**run.config, "taskset": HOSTILE, "versions": {"code": HOSTILE}},
        rows=[{**row, f"broke_{HOSTILE}": 1.0, f"action_{HOSTILE}": 0.9} for row in run.rows],
        transcripts=[hostile(row) for row in run.transcripts or ()],
        review=[hostile(row) for row in run.review or ()],
    )
    text = page(dirty, card(dirty))
    assert parsed(text).bad == []
    assert "&lt;script&gt;" in text


def test_the_page_carries_the_canary_of_the_tasks_that_it_shows(evaluated: Path) -> None:
    run = load_run(evaluated)
    marked = dataclasses.replace(run, transcripts=[{**row, "canary": "guid-1"} for row in run.transcripts or ()])
    assert "Not for training: guid-1" in page(marked, card(marked))


def test_a_broken_audit_log_is_bad_news_on_page_and_card(evaluated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(evaluated, tmp_path / "broken"))
    lines = (folder / audit.NAME).read_text().splitlines(keepends=True)
    (folder / audit.NAME).write_text("".join([lines[0], lines[2]]))
    run = load_run(folder)
    assert [line.level for line in verdict(run).lines if line.text.startswith("Audit log: broken")] == ["bad"]
    assert any("audit log is broken" in limit for limit in card(run)["limits"])


def test_a_task_that_was_trained_on_and_evaluated_is_bad_news(evaluated: Path) -> None:
    run = load_run(evaluated)
    assert run.audit is not None
    held = run.episodes[0]["task_id"]
    mixed = dataclasses.replace(run, audit=dataclasses.replace(run.audit, tasks=frozenset({held})))
    assert any(line.level == "bad" and "trained on and evaluated" in line.text for line in verdict(mixed).lines)


# --- the verdict in words ---------------------------------------------------------------------------------------------


def figure(mean: float, half: float = 0.05) -> dict[str, float]:
    return {"mean": mean, "low": mean - half, "high": mean + half}


def judged(
    before: float, after: float, *, sampled: tuple[float, float] = (0.2, 0.2), recall: tuple[float, float] = (0.5, 0.6)
) -> RunFiles:
    def agent(success: float, of: float) -> dict[str, Any]:
        return {
            "all": {"success": figure(success), "violations": figure(0.3)},
            "classes": {"granted": figure(of), "all: grant": figure(of)},
        }

    agents = {"warm start, greedy": agent(before, recall[0]), "after PPO, greedy": agent(after, recall[1])}
    agents |= {"warm start, sampled": agent(sampled[0], recall[0]), "after PPO, sampled": agent(sampled[1], recall[1])}
    paired = {"greedy": {"success": figure(after - before, 0.02)}}
    evaluation = {"tasks": 100, "organisations": 20, "agents": agents, "paired": paired}
    return RunFiles(name="r", config={"settings": {"control": "none"}}, warm={}, evaluation=evaluation)


@pytest.mark.parametrize(
    ("run", "level", "title"),
    [
        (judged(0.4, 0.6), "good", "BETTER THAN ITS WARM START"),
        (judged(0.4, 0.6, recall=(0.5, 0.4)), "care", "BETTER ON AVERAGE, BUT 1 CLASS FALLS"),
        (judged(0.5, 0.56), "care", "PERHAPS BETTER"),
        (judged(0.5, 0.5, sampled=(0.2, 0.5)), "care", "NO GREEDY GAIN"),
        (judged(0.5, 0.5), "care", "NO GAIN SHOWN"),
        (judged(0.6, 0.4), "bad", "WORSE THAN ITS WARM START"),
    ],
)
def test_the_verdict_is_about_greedy_success_and_intervals(run: RunFiles, level: str, title: str) -> None:
    said = verdict(run)
    assert said.level == level
    assert said.title.startswith(title)
    assert any("not compared" in line.text and line.level == "open" for line in said.lines)


def test_a_class_below_the_bound_is_named() -> None:
    lines = [line.text for line in verdict(judged(0.4, 0.6, recall=(0.1, 0.2))).lines if line.level == "bad"]
    assert lines == ["Recall is below 0.3 in 1 of 1 outcome classes (greedy): granted (0.20)."]


def test_episodes_are_chosen_by_digest_in_every_class_and_group() -> None:
    groups = {f"t{i}": GROUPS[i % 4] for i in range(200)}
    classes = {f"t{i}": ("grant", "refuse")[i // 100] for i in range(200)}
    chosen = choose(groups, classes)
    assert chosen == choose(dict(reversed(groups.items())), classes)
    assert len(chosen) == 2 * (3 + 3 + 2 + 1)
    assert {(groups[t], classes[t]) for t in chosen} == {(g, c) for g in GROUPS for c in ("grant", "refuse")}


def test_charts_are_drawn_of_one_point_and_of_many() -> None:
    assert charts.lines("a", {"x": []}) == ""
    assert "<circle" in charts.lines("a", {"x": [(1.0, 0.5)]})
    assert parsed(charts.lines("a", {"x": [(float(i), i * 1e4) for i in range(400)]})).bad == []
    drawn = charts.stacked("a", ["x", "y"], [(float(i), [0.5, 0.5]) for i in range(1000)])
    assert drawn.count("<rect") <= 2 * charts.COLUMNS


# --- what people say --------------------------------------------------------------------------------------------------


def filled(queue: list[dict[str, Any]], label: str = "wrong") -> list[list[str]]:
    return [[r["task_id"], r["episode"], r["question"], label, "ann", ""] for r in queue]


def as_csv(rows: list[list[str]]) -> str:
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [list(COLUMNS), *rows])


def test_the_form_is_empty_and_reads_back_as_no_label(evaluated: Path) -> None:
    queue = queue_of(evaluated)
    assert (evaluated / FORM).read_text() == form(queue)
    assert read_form(form(queue), queue) == []
    with pytest.raises(StageError, match="holds no label"):
        store(evaluated, [], queue)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        (0, "other", "line 2: task 'other', allowed small-h-"),
        (1, "nobody", "line 2: episode 'nobody' is not in this run's queue"),
        (2, "Is it nice?", "line 2: the question of episode"),
        (3, "yes", "line 2: label 'yes', allowed right, wrong, unclear"),
        (4, "", "line 2: label 'wrong' without a reviewer"),
    ],
)
def test_a_bad_row_is_named_with_its_line_what_was_found_and_what_is_allowed(
    evaluated: Path, column: int, value: str, says: str
) -> None:
    queue = queue_of(evaluated)
    rows = filled(queue)
    rows[0][column] = value
    with pytest.raises(StageError, match=re.escape(says)):
        read_form(as_csv(rows), queue)


def test_every_bad_row_is_named_at_once(evaluated: Path) -> None:
    queue = queue_of(evaluated)
    rows = filled(queue)
    rows[0][3], rows[2] = "maybe", rows[1]
    with pytest.raises(StageError, match=r"line 2: label 'maybe'.*; line 4: episode .* stands on line 3 already"):
        read_form(as_csv(rows), queue)
    with pytest.raises(StageError, match="line 1: found columns a, b, allowed task, episode"):
        read_form("a,b\n", queue)


def test_labels_are_kept_by_version_and_change_no_grade(evaluated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(evaluated, tmp_path / "labelled"))
    graded = [sha256_file(folder / name) for name in ("evaluation.json", "episodes.jsonl", "metrics.jsonl", "step_2/state.pt")]
    queue = queue_of(folder)
    first = store(folder, read_form(as_csv(filled(queue)), queue), queue)
    again = store(folder, read_form(as_csv(filled(queue)), queue), queue)
    second = store(folder, read_form(as_csv(filled(queue, "right")), queue), queue)
    assert (first["version"], again["version"], second["version"]) == (1, 1, 2)
    write_report(folder)
    assert [
        sha256_file(folder / name) for name in ("evaluation.json", "episodes.jsonl", "metrics.jsonl", "step_2/state.pt")
    ] == graded
    assert "people disagree with the reward in" in (folder / "report.html").read_text()


def test_disagreement_is_counted_by_reason_with_an_interval() -> None:
    queue = [{"episode": f"e{i}", "reason": "drawn at random", "reward_says": "right"} for i in range(10)]
    labels = [{"episode": f"e{i}", "label": ("wrong", "unclear")[i % 2] if i < 4 else "right"} for i in range(10)]
    row = disagreement(labels, queue)["all"]
    assert (row["judged"], row["differ"], row["unclear"]) == (8, 2, 2)
    assert 0.0 < row["low"] < 0.25 < row["high"] < 0.7
    assert wilson(0, 12)[1] == pytest.approx(0.2425, abs=1e-3)
    assert wilson(0, 0) == (None, None)


def test_a_form_in_which_somebody_wrote_is_never_lost(evaluated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(evaluated, tmp_path / "forms"))
    queue = queue_of(folder)
    written = as_csv(filled(queue))
    (folder / FORM).write_text(written)
    write_queue(folder, queue[:3])
    assert [path.read_text() for path in folder.glob("review-*.csv")] == [written]
    assert (folder / FORM).read_text() == form(queue[:3])


# --- comparing --------------------------------------------------------------------------------------------------------


def copies(folder: Path, **changes: Any) -> RunFiles:
    """The run as if it had other settings."""
    run = load_run(folder)
    name = changes.pop("name")
    return dataclasses.replace(run, name=name, config={**run.config, "settings": {**run.config["settings"], **changes}})


def test_seeds_are_one_arm_and_controls_stand_beside_it(evaluated: Path) -> None:
    runs = [
        copies(evaluated, name="s1"),
        copies(evaluated, name="s2", seed=2),
        copies(evaluated, name="c", control="shuffled_reward"),
    ]
    found = compare([*runs, copies(evaluated, name="other", lr=0.5)])
    assert [(arm["arm"], arm["seeds"]) for arm in found["arms"]] == [("PPO", 2), ("shuffled reward", 1), ("PPO (lr 0.5)", 1)]
    older = copies(evaluated, name="older", seed=3)
    settings = {name: value for name, value in older.config["settings"].items() if name not in ("judge", "noise", "clip_low")}
    older = dataclasses.replace(older, config={**older.config, "settings": settings})
    assert [arm["seeds"] for arm in compare([*runs, older])["arms"]] == [3, 1]  # what it lacks was the default
    assert [one["answer"] for one in found["answers"]] == ["cannot be said", "cannot be said", "not run"]
    assert all(one["level"] == "open" for one in found["answers"])


def test_a_comparison_of_an_earlier_evaluation_is_not_believed(evaluated: Path) -> None:
    run = load_run(evaluated)
    fresh = dataclasses.replace(run, comparison=compare([run]))
    assert any("non-overlapping" in line.text for line in verdict(fresh).lines)
    stale = dataclasses.replace(fresh, evaluation_sha256="other")
    assert any("evaluated anew" in line.text and line.level == "open" for line in verdict(stale).lines)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"evaluation": None}, "run b is not evaluated"),
        ({"config": "taskset_sha256"}, "trained on another task set"),
        ({"evaluation": "heldout_ids_sha256"}, "evaluated on other held-out tasks"),
        ({"name": "a"}, "named twice"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_in_one_line(evaluated: Path, changes: dict[str, Any], says: str) -> None:
    first = copies(evaluated, name="a")
    second = copies(evaluated, name="b")
    for field, key in changes.items():
        value = {**getattr(second, field), key: "other"} if isinstance(key, str) and field != "name" else key
        second = dataclasses.replace(second, **{field: value})
    with pytest.raises(StageError, match=says) as error:
        compare([first, second])
    assert "\n" not in str(error.value)


def test_an_episode_shows_the_sentence_of_the_rule_that_it_broke() -> None:
    step = {"tool": "resolve", "arguments": {"code": "x"}, "ok": True, "refused": "", "answer": {"kind": "end", "text": "done"}}
    asked = {**step, "tool": "reply_to_requester", "answer": {"kind": "requester", "text": "ORDER_1 it is"}}
    broken = [{"step": 1, "rule": "r1", "sentence": "Before resolve: get_order.", "message": "m", "hard": True}]
    played = {"steps": [asked, step], "broken": broken, "given": {"code": "x", "about": None, "changes": []}, "success": False}
    text = page_episodes.episode({**played, "reasons": ["code is wrong"], "return": -0.5, "ended_by": "finish"})
    for part in ("requester: ORDER_1 it is", "Before resolve: get_order.", "code is wrong", "no change"):
        assert part in text


# --- the commands -----------------------------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], main: Callable[[Sequence[str]], int], *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)."""
    with pytest.raises(SystemExit) as left:
        run_command(lambda: main(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_people_list_read_and_hand_back_by_command(evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(evaluated, tmp_path / "by_command"))
    queue = queue_of(folder)
    code, out, _ = command(capsys, review.main, str(folder))
    assert code == 0
    assert all(row["episode"] in out for row in queue)
    _, out, _ = command(capsys, review.main, str(folder), "--episode", queue[0]["episode"])
    assert queue[0]["request"]["text"] in out
    assert f"wanted: {queue[0]['wanted']['code']}" in out
    bad = filled(queue)
    bad[0][3] = "fine"
    (tmp_path / "bad.csv").write_text(as_csv(bad))
    code, _, err = command(capsys, review.main, str(folder), "--read", str(tmp_path / "bad.csv"))
    assert (code, err.count("\n")) == (2, 1)
    assert "bad.csv: line 2: label 'fine', allowed right, wrong, unclear" in err
    (tmp_path / "good.csv").write_text(as_csv(filled(queue)))
    code, out, _ = command(capsys, review.main, str(folder), "--read", str(tmp_path / "good.csv"))
    assert code == 0
    assert "kept as version 1" in out
    assert "people disagree with the reward in" in out


def test_a_comparison_by_command_stands_in_the_first_runs_report(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(evaluated, tmp_path / "first"))
    code, out, _ = command(capsys, compare_runs.main, str(folder), str(evaluated))
    assert code == 0
    assert "Does the shuffled-reward control rise? not run." in out
    assert "Comparison with other seeds and controls: not run" not in (folder / "report.html").read_text()
    code, _, err = command(capsys, compare_runs.main, str(folder), str(evaluated.parent / "bare"))
    assert (code, err.count("\n")) == (2, 1)
    assert "run bare is not evaluated" in err
