"""`python -m ingest draft EXPORT`: a first spec for an unseen export, with a guess and its evidence for each choice."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.draft.compose import Draft

EPILOG = """\
Looks at every file of the folder by its content, and writes two files:
  NAME.toml            a spec: sources, tables, keys, histories, time formats, workflows; findings as comments on top; and a
                       [[guesses]] table for each choice: where it stands (`at`), what it says, its evidence in counts and row
                       numbers, and `confirmed = false`
  NAME.codebook.json   each field's type and when its value is known; columns filled in afterwards are post_hoc

Nothing is built while a guess is not confirmed: python -m ingest --spec NAME.toml stops and lists them. Confirm each in the
file (change the value at its place first where it is wrong), or answer them one by one with --ask. Run again after edits or
with a longer export: what is confirmed, and what you added, stays; what is not is drafted anew. Comments of your own are lost.

Values of people are never written: evidence is counts, shares and row numbers; the values of columns of few values
(a status) are listed unless the column may name people.

examples:
  python -m ingest draft exports/acme --out specs/acme.toml
  python -m ingest draft exports/acme --out specs/acme.toml --ask
"""
HEADER = (
    "A draft. Each choice is a guess: see [[guesses]] at the end for its evidence, and set `confirmed = true` where it is right.",
    "What each field means: schemas/spec.py; the code book beside this file: schemas/records.py.",
    "",
    "--- what was found, and what is missing ---",
)


def main(arguments: list[str]) -> int:
    """Reads the command line after `draft`. Raises SourceError or SpecError for what the operator can mend."""
    parser = argparse.ArgumentParser(
        prog="python -m ingest draft", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("export", type=Path, help="folder of the export")
    parser.add_argument("--out", type=Path, default=None, help="the spec to write (default: <name of the folder>.toml here)")
    parser.add_argument("--ask", action="store_true", help="ask the open guesses one by one")
    parser.add_argument("--quiet", action="store_true", help="no progress and no findings")
    given = parser.parse_args(arguments)
    from ingest.draft.ask import ask
    from ingest.draft.compose import compose
    from ingest.draft.merge import merged
    from ingest.draft.profile import profile
    from ingest.draft.toml_text import plain

    slug = re.sub(r"[^A-Za-z0-9_-]+", "_", given.export.resolve().name).strip("_-") or "draft"
    out: Path = given.out if given.out is not None else Path(f"{slug}.toml")
    old = read_draft(out)
    draft = compose(profile(given.export, quiet=given.quiet), out.stem)
    if old is not None:
        draft = merged(draft, *old)
    if not given.quiet:
        print("\n".join(plain(line) for line in draft.findings))
    write_draft(out, draft)
    if given.ask:
        try:
            ask(draft, sys.stdin, print)
        finally:
            write_draft(out, draft)
    left = sum(not guess.confirmed for guess in draft.guesses)
    print(f"written to {out} and {book_file(out).name}: {len(draft.guesses)} guesses, {left} not confirmed")
    return 0


def book_file(out: Path) -> Path:
    """The code book beside a spec."""
    return out.with_name(f"{out.stem}.codebook.json")


def read_draft(out: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Spec and code book of an earlier draft, or None. Raises SpecError for files that are there and are none."""
    from pydantic import ValidationError

    from schemas.errors import SpecError
    from schemas.files import read_json
    from schemas.guesses import GuessSpec
    from schemas.spec import SLUG
    from schemas.spec_faults import faults_of

    if not re.fullmatch(SLUG, out.stem) or out.suffix != ".toml":
        raise SpecError(str(out), ["--out: the name becomes the task set's: letters, digits, _ and -, then .toml"])
    if not out.exists() and book_file(out).exists():
        raise SpecError(str(book_file(out)), ["is there without its draft, and would be written over: name another --out"])
    if not out.exists():
        return None
    if not book_file(out).exists():
        raise SpecError(str(out), [f"its code book {book_file(out).name} is missing: bring it back, or draft to another --out"])
    try:
        spec = tomllib.loads(out.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(str(out), [f"not TOML: {error}"]) from error
    if not isinstance(spec.get("guesses"), list) or not spec["guesses"]:
        raise SpecError(str(out), ["is no draft (it has no guesses): name another file, it would be written over"])
    try:
        for guess in spec["guesses"]:
            GuessSpec.model_validate(guess)
    except ValidationError as error:
        raise SpecError(str(out), faults_of(error, "guesses", model=GuessSpec)) from error
    beside = book_file(out)
    book = read_json(beside) if beside.exists() else {}
    if not isinstance(book, dict):
        raise SpecError(str(beside), ["is no code book: a JSON object is needed"])
    return spec, book


def write_draft(out: Path, draft: Draft) -> None:
    """Writes spec and code book, each at once or not at all."""
    from ingest.draft.toml_text import toml
    from schemas.files import write_text

    guesses = [guess.model_dump(mode="json") for guess in draft.guesses]
    write_text(out, toml({**draft.spec, "guesses": guesses}, [*HEADER, *draft.findings]))
    write_text(book_file(out), json.dumps(draft.book, indent=1, ensure_ascii=False) + "\n")
