"""People judge episodes: `python -m training.review RUN` lists the queue, `--read FILE` takes a filled form back.

The form is review.csv of the run folder: one row an episode; `label` is right, wrong or unclear. What is read back is kept as
labels_1.json, labels_2.json, ... beside the run (the same form twice is one version), with how often people disagree with the
reward. Labels are never read by a grader: no grade and no training changes with them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from pipeline.cli import console, run_command
from schemas.errors import StageError
from schemas.files import read_json, sha256_json, write_json
from training.report import write_report
from training.review_queue import COLUMNS, FORM, LABELS, NAME, REASONS
from training.run_files import find_run, label_files, load_run
from training.verdict import disagreement_words, queue_digest

MOST_FAULTS = 20
"""Faults of a form that one error lists."""


@dataclass(frozen=True)
class Options:
    """Lists the episodes of a run that people should judge, or reads back what they said."""

    run: Annotated[str, tyro.conf.Positional]
    """Run folder, or its name under data/runs."""
    read: str = ""
    """A filled form (review.csv): checked, kept as a new version, and compared with the reward."""
    episode: str = ""
    """Shows one episode of the queue in full."""


def read_form(text: str, queue: Sequence[Mapping[str, Any]], named: str = NAME) -> list[dict[str, str]]:
    """The labelled rows of a form. Raises StageError naming every bad row by its line, what it holds and what is allowed."""
    known = {row["episode"]: row for row in queue}
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    faults: list[str] = []
    out: list[dict[str, str]] = []
    seen: dict[str, int] = {}
    try:
        header = next(reader, [])
        if tuple(header) != COLUMNS:
            raise StageError(f"line 1: found columns {', '.join(header) or 'none'}, allowed {', '.join(COLUMNS)}")
        for cells in reader:
            if not cells:
                continue
            place = f"line {reader.line_num}"
            if len(cells) != len(COLUMNS):
                faults.append(f"{place}: found {len(cells)} columns, allowed {len(COLUMNS)}")
                continue
            row = dict(zip(COLUMNS, (cell.strip() for cell in cells), strict=True))
            if found := _fault(row, known, seen, named):
                faults.append(f"{place}: {found}")
                continue
            seen[row["episode"]] = reader.line_num
            if row["label"]:
                out.append({name: row[name] for name in ("task", "episode", "label", "reviewer", "note")})
    except csv.Error as error:
        faults.append(f"line {reader.line_num}: not CSV ({error})")
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise StageError("; ".join(faults[:MOST_FAULTS]) + more)
    return sorted(out, key=lambda row: row["episode"])


def _fault(row: Mapping[str, str], known: Mapping[str, Mapping[str, Any]], seen: Mapping[str, int], named: str) -> str:
    """What is wrong with a row; "" where nothing is."""
    episode, label = row["episode"], row["label"]
    if episode not in known:
        return f"episode {episode or 'none'!r} is not in this run's queue ({len(known)} episodes in {named})"
    if episode in seen:
        return f"episode {episode} stands on line {seen[episode]} already, allowed once"
    if row["task"] != known[episode]["task_id"]:
        return f"task {row['task'] or 'none'!r}, allowed {known[episode]['task_id']} for episode {episode}"
    if row["question"] != known[episode]["question"]:
        return f"the question of episode {episode} was changed, allowed as it was asked"
    if label and label not in LABELS:
        return f"label {label!r}, allowed {', '.join(LABELS)} or empty"
    if label and not row["reviewer"]:
        return f"label {label!r} without a reviewer, allowed only with who said it"
    if not label and row["note"]:
        return f"a note without a label, allowed {', '.join(LABELS)}"
    return ""


def wilson(hits: int, count: int) -> tuple[float | None, float | None]:
    """95% interval of a share (Wilson): honest at 0 of 12, where a bootstrap says [0, 0]. (None, None) of nothing."""
    if not count:
        return None, None
    z = 1.959964
    share, wide = hits / count, z * z / count
    middle = (share + wide / 2) / (1 + wide)
    half = z * math.sqrt(share * (1 - share) / count + wide / (4 * count)) / (1 + wide)
    return max(0.0, middle - half), min(1.0, middle + half)


def disagreement(labels: Sequence[Mapping[str, str]], queue: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How often people disagree with the reward: over what was drawn at random ("all": it speaks for all episodes), and under
    each other reason, where the queue looked for trouble."""
    known = {row["episode"]: row for row in queue}
    out: dict[str, Any] = {}
    for reason in REASONS:
        judged = [row for row in labels if known[row["episode"]]["reason"] == reason and row["label"] != "unclear"]
        unclear = sum(known[row["episode"]]["reason"] == reason and row["label"] == "unclear" for row in labels)
        differ = sum(known[row["episode"]]["reward_says"] != row["label"] for row in judged)
        least, most = wilson(differ, len(judged))
        figures = {"judged": len(judged), "differ": differ, "unclear": unclear, "low": least, "high": most}
        out["all" if reason == "drawn at random" else reason] = figures
    return out


def store(folder: Path, labels: Sequence[Mapping[str, str]], queue: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Keeps the labels as the next version and returns it; the same labels of the same queue again are the version that they are.

    Raises StageError where the form holds no label."""
    if not labels:
        raise StageError("the form holds no label; nothing was kept")
    digest = sha256_json([list(labels), queue_digest(queue)])
    versions = label_files(folder)
    for path in versions:
        held: dict[str, Any] = read_json(path)
        if held["sha256"] == digest:
            return held
    made = {
        "version": int(versions[-1].stem[7:]) + 1 if versions else 1,
        "sha256": digest,
        "queue_sha256": queue_digest(queue),
        "labels": [dict(row) for row in labels],
        "disagreement": disagreement(labels, queue),
    }
    write_json(folder / f"labels_{made['version']}.json", made)
    return made


def transcript(row: Mapping[str, Any]) -> str:
    """One episode of the queue as people read it."""
    played = row["played"]
    lines = [
        f"episode {row['episode']}  task {row['task_id']}  ({row['reason']})",
        f"reward says: {row['reward_says']}; return {played['return']:+.2f}; played by {played['agent']}",
        f"subject: {row['request']['subject']}",
        row["request"]["text"],
        "",
    ]
    for number, step in enumerate(played["steps"]):
        lines.append(f"{number}. {step['tool']} {step['arguments']}")
        lines.append(f"   {step['answer']['kind']}: {step['answer']['text']}")
        lines += [f"   BROKEN {b['rule']}: {b['sentence'] or b['message']}" for b in played["broken"] if b["step"] == number]
    wanted, given = row["wanted"], played["given"]
    lines += ["", f"wanted: {wanted['code']}; {'; '.join(wanted['changes']) or 'no change'}"]
    lines += [f"given:  {given['code'] or 'nothing'}; {'; '.join(given['changes']) or 'no change'}", "", row["question"]]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    options = tyro.cli(Annotated[Options, tyro.conf.arg(name="")], prog="python -m training.review", args=argv)
    folder = find_run(options.run)
    queue = load_run(folder).review
    if queue is None:
        raise StageError(f"{folder} has no review queue; `python -m training.evaluate --run {folder.name}` makes one")
    out = console(soft_wrap=True)

    def say(text: str) -> None:
        out.print(text, markup=False, highlight=False)

    if options.read:
        path = Path(options.read)
        try:
            labels = read_form(path.read_text(encoding="utf-8"), queue)
        except (OSError, UnicodeDecodeError) as error:
            raise StageError(f"{path} cannot be read: {error}") from error
        except StageError as error:
            raise StageError(f"{path}: {error}") from error
        kept = store(folder, labels, queue)
        write_report(folder)
        say(f"{len(labels)} labels kept as version {kept['version']} (labels_{kept['version']}.json of the run)")
        for name, row in kept["disagreement"].items():
            said = "drawn at random, so this speaks for all episodes" if name == "all" else name
            say(f"- {said}: {disagreement_words(row)}" + (f"; {row['unclear']} unclear" if row["unclear"] else ""))
        return 0
    if options.episode:
        chosen = [row for row in queue if row["episode"] == options.episode]
        if not chosen:
            raise StageError(f"episode {options.episode} is not in the queue; without --episode they are listed")
        say(transcript(chosen[0]))
        return 0
    for row in queue:
        say(f"{row['episode']}  {row['task_id']}  reward says {row['reward_says']:<5}  {row['reason']}")
    say(f"{len(queue)} episodes. Fill the column label of {folder / FORM} ({', '.join(LABELS)}), then --read it;")
    say("--episode ID shows one in full, as does report.html.")
    return 0


if __name__ == "__main__":
    run_command(main)
