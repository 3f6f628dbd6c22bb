"""How many known replies are found again where mails have lost In-Reply-To and References: real mails of a public mailing list.

    python -m benchmarks.mail_threads ../shared/real/emails

The truth is what the headers of the same mails say: pairs (reply, mail answered) whose both mails are there. The headers are then
taken away and the threads rebuilt from quotes and subjects alone. Printed: how many mails there are and how their links are told;
of the known pairs, the share whose very parent is found (recall), and the share of found parents that are right (precision, over
replies whose parent is known); and of pairs of mails in one thread, both measures. For that precision only mails count that some
header joins to another, and threads that lost a mail between count as two: it is a lower bound. Nothing is written but `--out`.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from ingest.source import RowFault
from ingest.sources._mail_body import Reading
from ingest.sources._mail_files import found_files, places
from ingest.sources._mail_plan import letter_of, read_mail
from ingest.sources._mail_subjects import base_subject
from ingest.sources._mail_threads import Letter, Link, Thread, rebuilt

WINDOW = timedelta(days=30)
READING = Reading((), "UTC", True, "cp1252", 25_000_000, 1_000_000, 1_000)


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares in [0, 1]."""

    mails: int
    quarantined: dict[str, int]
    links: dict[str, int]
    """By the headers: "references", "in_reply_to", "quoted", "subject" -> mails."""
    known_pairs: int
    hidden_links: dict[str, int]
    """The same with the headers taken away, of the replies of known pairs."""
    pair_recall: float
    pair_precision: float
    found_in_thread: float
    """Share of known pairs whose two mails are in one thread."""
    thread_recall: float
    thread_precision: float
    other_subject: float
    """Share of pairs of mails in one thread, as rebuilt without headers, whose subjects differ."""


def letters_of(folder: Path) -> tuple[list[Letter], Counter[str]]:
    """Distinct mails below a folder (of one Message-ID the first by time), and why others were not read."""
    faults: Counter[str] = Counter()
    found: dict[str, Letter] = {}
    for path, form in found_files(folder, "auto", (), frozenset()).files:
        for place in places(path, form):
            try:
                letter = letter_of(read_mail(place, READING))
            except RowFault as fault:
                faults[str(fault)] += 1
                continue
            known = found.get(letter.message_id)
            if known is None or letter.at < known.at:
                found[letter.message_id] = replace(letter, key=letter.message_id)
    return list(found.values()), faults


def hidden(letters: Iterable[Letter]) -> list[Letter]:
    """The same mails without their headers of threads."""
    return [replace(letter, references=(), in_reply_to=()) for letter in letters]


def parents(links: dict[str, Link]) -> dict[str, tuple[str, str]]:
    return {key: (link.to, link.by) for key, link in links.items() if link.to is not None}


def together(threads: list[Thread]) -> set[tuple[str, str]]:
    """Pairs of mails of one thread."""
    return {pair for thread in threads for pair in combinations(sorted(thread.keys), 2)}


def measured(letters: list[Letter], faults: Counter[str]) -> Figures:
    _, told_links = rebuilt(letters, window=WINDOW)
    headed = parents({key: link for key, link in told_links.items() if link.by in ("references", "in_reply_to")})
    # Truth of threads: the headers alone, without what quotes and subjects add.
    truth_threads, _ = rebuilt((replace(one, subject="", quoted=one.quoted[:0]) for one in letters), window=WINDOW)
    threads, links = rebuilt(hidden(letters), window=WINDOW)
    found = parents(links)
    thread_of = {key: thread.root for thread in threads for key in thread.keys}
    asked = [key for key in headed if key in found]
    right = sum(found[key][0] == headed[key][0] for key in asked)
    met = sum(thread_of[key] == thread_of[to] for key, (to, _) in headed.items())
    truth, guessed = together(truth_threads), together(threads)
    telling = {key for pair in truth for key in pair}
    both = {pair for pair in guessed if telling.issuperset(pair)}
    base = {letter.key: base_subject(letter.subject)[0] for letter in letters}
    return Figures(
        mails=len(letters),
        quarantined=dict(sorted(faults.items())),
        links=dict(sorted(Counter(link.by for link in told_links.values()).items())),
        known_pairs=len(headed),
        hidden_links=dict(sorted(Counter(found[key][1] for key in asked).items())),
        pair_recall=_share(right, len(headed)),
        pair_precision=_share(right, len(asked)),
        found_in_thread=_share(met, len(headed)),
        thread_recall=_share(len(truth & guessed), len(truth)),
        thread_precision=_share(len(truth & both), len(both)),
        other_subject=_share(sum(base[a] != base[b] for a, b in guessed), len(guessed)),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def unpacked(emails: Path, folder: Path) -> Path:
    """The archives of `emails` (*.tar.gz), unpacked into `folder`."""
    for archive in sorted(emails.glob("*.tar.gz")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder / archive.name.removesuffix(".tar.gz"), filter="data")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("../shared/real/emails"), help="archives of mails (*.tar.gz)"
    )
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for archive in sorted(unpacked(args.folder, Path(scratch)).iterdir()):
            figures = measured(*letters_of(archive))
            told: dict[str, Any] = {name: getattr(figures, name) for name in Figures.__slots__}
            print(archive.name)
            for name, value in told.items():
                print(f"  {name:<18}{value}")
            if args.out:
                lines = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
                args.out.write_text(json.dumps({**lines, archive.name: told}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
