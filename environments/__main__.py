"""`python -m environments play TASKSET [TASK]`: play a task in the terminal, and see your journal graded."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Literal

from pipeline.cli import console, run_command
from schemas.errors import LeakError, StageError
from schemas.paths import taskset_dir
from schemas.taskset import TaskSet, open_taskset

Side = Literal["train", "heldout"]


def _folder(name: str) -> Path:
    """A task set by its name under data/tasksets, or by its folder. StageError says how to build one."""
    for folder in (taskset_dir(name), Path(name)):
        if (folder / "train").is_dir() or (folder / "heldout").is_dir():
            return folder
    parent = taskset_dir("")
    there = sorted(p.name for p in parent.iterdir() if (p / "train").is_dir()) if parent.is_dir() else []
    close = difflib.get_close_matches(name, there, n=1)
    hint = (
        f"did you mean {close[0]!r}?"
        if close
        else f"there are: {', '.join(there) or 'none'}; `make ingest deid build-tasks` builds one"
    )
    raise StageError(f"there is no task set {name!r} under {parent}; {hint}")


def _pick(taskset: TaskSet, folder: Path, wanted: str) -> str:
    """The task's full id; a unique end of it will do (the number). Refuses a held-out task unless its side was asked for."""
    ids = sorted(taskset.tasks)
    if wanted in taskset.tasks:
        return wanted
    ends = [i for i in ids if i.endswith(wanted)]
    if len(ends) == 1:
        return ends[0]
    other: Side = "heldout" if taskset.side == "train" else "train"
    if (folder / other).is_dir() and wanted in open_taskset(folder, other).tasks:
        raise LeakError(
            f"task {wanted} is on the {other} side; say --side {other} to play it (then it is no longer unseen to you)"
        )
    close = difflib.get_close_matches(wanted, ids, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "leave TASK out to see the list"
    raise StageError(f"{folder.name} ({taskset.side}) has no task {wanted!r}; {hint}")


def _list(taskset: TaskSet) -> None:
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("task", "workflow", "started", "subject"):
        table.add_column(column, overflow="fold")
    for task_id in sorted(taskset.tasks):
        task = taskset.tasks[task_id]
        table.add_row(escape(task_id), task.workflow, task.started_at[:10], escape(task.opening.subject))
    screen.print(table)
    screen.print(
        f"{len(taskset.tasks)} tasks ({taskset.side}). Play one: python -m environments play {taskset.folder.name} TASK",
        markup=False,
    )


def _lines() -> Iterator[str]:
    """Typed lines; on a terminal with a prompt and line editing."""
    if sys.stdin.isatty():
        try:
            import readline  # noqa: F401 - its import is what gives input() history and editing
        except ImportError:
            print("(no line editing on this platform)", file=sys.stderr)
        while True:
            try:
                yield input("> ")
            except EOFError:
                return
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text are a line like any other: no call
    for line in sys.stdin:
        print(f"> {line.rstrip()}", flush=True)
        yield line


def _play(arguments: argparse.Namespace) -> int:
    try:
        folder = _folder(arguments.taskset)
    except OSError as error:
        raise StageError(f"cannot read {error.filename}: {error.strerror}") from error
    taskset = open_taskset(folder, arguments.side)
    if arguments.task is None:
        _list(taskset)
        return 0
    from environments.episode import Episode
    from environments.play import Player
    from rewards.score import load_grader

    task_id = _pick(taskset, folder, arguments.task)
    episode = Episode(taskset, load_grader(taskset), spoken=arguments.spoken)
    screen = console(stderr=arguments.json, soft_wrap=True)
    if episode.speaker is not None:
        named = episode.speaker.spec
        screen.print(f"Your messages and the answers' words are sent to {named.host} ({named.purpose}).", markup=False)
    try:
        Player(episode, screen, _lines()).play(task_id, arguments.seed)
    except KeyboardInterrupt:
        screen.print("\nStopped before the case was finished: no grade.", markup=False)
        return 130
    if episode.speaker is not None:
        counts = ", ".join(f"{what} {n}" for what, n in sorted(episode.speaker.counts.items())) or "nothing asked"
        screen.print(f"answers: {counts}", markup=False)
    if arguments.json:
        print(episode.trace("person").model_dump_json())
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m environments", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    play = commands.add_parser(
        "play",
        help="play a task in the terminal",
        description="Plays a task in the terminal: the request, your tools, the requester, and at the end your graded journal "
        "with the rows that prove each broken rule. Lines may also come from a pipe.",
        epilog="example: python -m environments play helpdesk_v1 lists the tasks; add one of them to play it",
    )
    play.add_argument("taskset", metavar="TASKSET", help="name of a built task set (data/tasksets/NAME), or its folder")
    play.add_argument("task", metavar="TASK", nargs="?", help="task id or a unique end of it; left out: the list of tasks")
    play.add_argument("--seed", type=int, default=0, help="seed of the requester (default 0)")
    play.add_argument("--side", choices=("train", "heldout"), default="train", help="side of the task set (default train)")
    play.add_argument(
        "--spoken", action="store_true", help="let the model that the task set names phrase the answers (sends words to its host)"
    )
    play.add_argument("--json", action="store_true", help="print the whole trace as JSON on stdout; the game goes to stderr")
    play.set_defaults(run=_play)
    return top


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit code. RecordgymError passes through for the caller to print."""
    arguments = parser().parse_args(argv)
    code: int = arguments.run(arguments)
    return code


if __name__ == "__main__":
    run_command(main)
