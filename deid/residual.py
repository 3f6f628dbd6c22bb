"""The gate: reads what is about to leave, byte by byte, and looks for every original of the vault. Shares no code
with what it checks.

What is looked for, by rule:
- an original of two or more words, or with an "@", or of letters mixed with digits or signs: as a whole, in any case and accent;
- an original of digits (and separators) only, from 8 digits on: as a run of digits;
- not looked for: a single word of letters (a first name is also a word, a place or a product), fewer than 5 characters,
  digits alone below 8 (amounts and counts look the same), declared vocabulary. These are left to the detectors and
  are counted as `not_scanned`.
And whatever the vault says: anything shaped like an e-mail address, an international phone number or a valid IBAN.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import PrivacyError

TOKEN_SHAPE = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_[A-Z]+\d*)?")
PLACE = re.compile(r"\bR[0-9a-f]{16}\b")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
PHONE = re.compile(r"(?<![\w.])\+\d(?:[ ()/.-]{0,2}\d){7,14}(?!\w)")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
DIGITS = re.compile(r"\d(?:[ ,_./()-]{0,2}\d){7,}")
MIN_LENGTH = 5
MIN_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """Where something was found: file, column, row; never what."""

    file: str
    column: str
    row: int
    kind: str


@dataclass(frozen=True, slots=True)
class ScanReport:
    hits: tuple[Hit, ...]
    files: int
    characters: int
    originals: int
    not_scanned: int


def plain(text: str) -> str:
    """Lower case, without accents, blanks made single."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return re.sub(r"\s+", " ", "".join(c for c in decomposed if not unicodedata.combining(c))).strip()


def split_originals(originals: Iterable[str], vocabulary: Iterable[str]) -> tuple[set[str], set[str], int]:
    """(phrases, digit runs, how many are not looked for)."""
    spared = {plain(v) for v in vocabulary}
    phrases, runs, skipped = set(), set(), 0
    for original in set(originals):
        text = plain(original)
        digits = re.sub(r"\D", "", text)
        if text in spared or len(text) < MIN_LENGTH:
            skipped += 1
        elif not re.search(r"[^\W\d_]", text):
            if len(digits) >= MIN_DIGITS:
                runs.add(digits)
            else:
                skipped += 1
        elif re.fullmatch(r"[^\W\d_]+", text):
            skipped += 1
        else:
            phrases.add(text)
    return phrases, runs, skipped


def cells(path: Path) -> Iterator[tuple[str, int, str]]:
    """Every text of a file as (column, row, text): the columns of a table and their names, or the lines of anything else."""
    if path.suffix == ".parquet":
        import polars as pl

        table = pl.read_parquet(path)
        for name in table.columns:
            yield name, -1, name
            if table.schema[name] == pl.String:
                column = table[name]
                for row, value in enumerate(column.to_list()):
                    if value is not None:
                        yield name, row, value
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PrivacyError(
            f"{path.name}: its bytes cannot be read as text, so it cannot be checked; nothing was published"
        ) from error
    for row, line in enumerate(text.split("\n")):
        yield "", row, line


def scan(
    folder: Path, originals: Iterable[str], vocabulary: Iterable[str] = (), by_case: Mapping[str, Iterable[str]] | None = None
) -> ScanReport:
    """Reads every file below `folder`. `by_case`: record id of a case -> originals that a model found in its texts,
    looked for in its
    rows only (a model's find in one case, such as a street, may be public wording in another). Raises PrivacyError
    for an unreadable file."""
    import ahocorasick_rs

    phrases, runs, skipped = split_originals(originals, vocabulary)
    ordered = sorted(phrases)
    automaton = ahocorasick_rs.AhoCorasick(ordered) if ordered else None
    hits: list[Hit] = []
    files = characters = 0
    seen: dict[str, str] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        files += 1
        name = path.relative_to(folder).as_posix()
        for column, row, value in [("(name)", 0, name), *cells(path)]:
            characters += len(value)
            if value not in seen:
                seen[value] = _found(value, automaton, ordered, runs)
            if seen[value]:
                hits.append(Hit(name, column, row, seen[value]))
        if by_case and path.suffix == ".parquet" and path.parent.name == "events":
            hits.extend(_in_cases(path, name, by_case, vocabulary))
    return ScanReport(tuple(hits), files, characters, len(phrases) + len(runs), skipped)


def _in_cases(path: Path, name: str, by_case: Mapping[str, Iterable[str]], vocabulary: Iterable[str]) -> Iterator[Hit]:
    import polars as pl

    phrases = {case: split_originals(found, vocabulary)[0] for case, found in by_case.items()}
    table = pl.read_parquet(path, columns=["record_id", "reference", "text", "value_json"])
    for row, (record, case, *texts) in enumerate(table.iter_rows()):
        for wanted in phrases.get(case or record, ()):
            for column, text in zip(("text", "value_json"), texts, strict=True):
                if text and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain(TOKEN_SHAPE.sub("#", text))):
                    yield Hit(name, column, row, "name found in this case")


def _found(value: str, automaton: object, ordered: list[str], runs: set[str]) -> str:
    """Kind of the first thing found in a text, or ""."""
    bare = PLACE.sub("#", TOKEN_SHAPE.sub("#", value))
    text = plain(bare.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"'))
    if automaton is not None:
        for _, start, end in automaton.find_matches_as_indexes(text, overlapping=True):  # type: ignore[attr-defined]
            before, after = text[start - 1 : start], text[end : end + 1]
            if not (before.isalnum() and text[start].isalnum()) and not (after.isalnum() and text[end - 1].isalnum()):
                return "original"
    if runs and any(_has_run(re.sub(r"\D", "", m.group()), runs) for m in DIGITS.finditer(bare)):
        return "number"
    if EMAIL.search(bare):
        return "e-mail"
    if PHONE.search(bare):
        return "phone"
    if any(_valid_iban(m.group()) for m in IBAN.finditer(bare)):
        return "IBAN"
    return ""


def _has_run(digits: str, runs: set[str]) -> bool:
    return digits in runs or any(digits[i:j] in runs for i in range(len(digits)) for j in range(i + MIN_DIGITS, len(digits) + 1))


def _valid_iban(text: str) -> bool:
    code = text.replace(" ", "")
    moved = code[4:] + code[:4]
    return len(code) >= 15 and int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def require_clean(report: ScanReport) -> None:
    """Raises PrivacyError with places and kinds (never the text) where anything was found."""
    if report.hits:
        first = ", ".join(f"{h.file}:{h.column}:{h.row} ({h.kind})" for h in report.hits[:5])
        raise PrivacyError(
            f"the leak scan found {len(report.hits)} texts with an identifier; nothing was published. First: {first}"
        )
