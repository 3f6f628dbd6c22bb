"""`python -m tasks --spec FILE`: clean records -> certified tasks. `python -m tasks explain TASKSET TASK [FIELD]`: why, and
from where. `python -m tasks report TASKSET`: the verdict and its page again."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.cli import run_command
from schemas.errors import StageError

DESCRIPTION = """\
Builds a task set: data/clean/<supplier> -> data/tasksets/<name>.

  python -m tasks --spec tasks/specs/helpdesk_v1.toml      build (a finished build is a no-op; a killed one continues)
  python -m tasks explain helpdesk_v1                      list the tasks
  python -m tasks explain helpdesk_v1 TASK                 why this record became a task, and each step of its reference
  python -m tasks explain helpdesk_v1 TASK FIELD           where a value that the agent sees comes from, back to the export
                                                           (FIELD: opening/text, system/kind/record/field, requester/f1,
                                                           policies/DOCUMENT/CLAUSE ..., as explain lists them). Shows
                                                           originals of personal data, and says so; --no-originals does not
  python -m tasks audit tau2:PATH                          our certificates on somebody else's task set; --help lists them
  python -m tasks report helpdesk_v1                       the page of its report once more, from what the build stored
  python -m tasks verify helpdesk_v1                       derives every certificate again from the set's folder alone

Exit codes: 0 where the report says PASS, 1 where it says FAIL, 2 where the command could not do its work.
Needs the stage before it: python -m deid --spec FILE.
"""


COMMANDS = ("explain", "verify", "report", "audit")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tasks", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spec", type=Path, required=True, help="spec of the task set (tasks/specs/*.toml)")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0 = one per processor (default)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def _explain_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tasks explain", description="Why a record became a task, and where what the agent sees comes from."
    )
    parser.add_argument("taskset", help="name of the task set, e.g. helpdesk_v1")
    parser.add_argument("task", nargs="?", help="id of the task; left out: the tasks are listed")
    parser.add_argument(
        "field",
        nargs="?",
        help="opening/text, system/kind/record/field, requester/f1, policies/DOCUMENT/CLAUSE, rules/RULE/sentence, systems/NAME",
    )
    parser.add_argument(
        "--no-originals", action="store_true", help="do not ask the vault what tokens stand for (they are personal data)"
    )
    parser.add_argument(
        "--spec", type=Path, help="the spec, to resolve references (default: the file of that name in tasks/specs)"
    )
    return parser


def _report_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tasks report",
        description="Writes report.html again from report.json, says the verdict of today, and exits with 1 where it is FAIL.",
    )
    parser.add_argument("taskset", help="name of the task set, e.g. helpdesk_v1, or its folder")
    return parser


def _taskset(name: str) -> Path:
    from schemas.paths import taskset_dir

    return Path(name) if Path(name).is_dir() else taskset_dir(name)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["explain"]:
        from tasks.explain import explain

        asked = _explain_parser().parse_args(arguments[1:])
        print(explain(asked.taskset, asked.task, asked.field, spec=asked.spec, originals=not asked.no_originals))
        return 0
    if arguments[:1] == ["audit"]:
        from tasks.audit import main as audit

        return audit(arguments[1:])
    if arguments[:1] == ["verify"]:
        from tasks.verify import main as verify

        return verify(arguments[1:])
    if arguments[:1] == ["report"]:
        from tasks.report import render_again, verdict

        folder = _taskset(_report_parser().parse_args(arguments[1:]).taskset)
        sound = render_again(folder)
        print(verdict(folder)[1])
        return 0 if sound else 1
    if arguments and not arguments[0].startswith("-"):
        found, close = arguments[0], difflib.get_close_matches(arguments[0], COMMANDS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise StageError(
            f"there is no command {found!r}; {hint}allowed: {', '.join(COMMANDS)}, or --spec FILE to build a task set"
        )
    from schemas.spec import load_spec
    from tasks.build import build, summary

    asked = _parser().parse_args(arguments)
    result = build(load_spec(asked.spec), workers=asked.workers, quiet=asked.quiet)
    print(summary(result))
    return 0 if result.sound else 1


if __name__ == "__main__":
    run_command(lambda: main(sys.argv[1:]))
