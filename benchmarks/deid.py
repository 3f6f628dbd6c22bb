"""De-identification of the sample against its truth: recall and precision of mentions, identity links, tokens, and CPU seconds.

    python -m benchmarks.deid [--spec tasks/specs/helpdesk_v1.toml] [--truth data/truth/sample] [--misses 20]

Reads the finished stages (`python -m samples`, `ingest`, `deid`) and opens the vault with the key, as a test may.
Recall of a mention: every
character of it is gone from the clean text. Precision: share of replaced spans that a truth mention (or a known value) explains.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl

from deid.rewrite import Shard
from deid.run import Payload, prepared
from deid.tokens import TOKEN, base_of, load_key
from deid.vault import Vault
from schemas.paths import clean_dir, data_dir, records_dir, vault_file
from schemas.spec import load_spec

MOVING = re.compile(r"\d")
"""Dates move: any digit matches any digit."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def events(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(p) for p in sorted((folder / "events").glob("*.parquet"))])


def align(raw: str, clean: str) -> list[tuple[int, int, str]]:
    """Replaced spans of `raw` as (start, end, replacement), by matching what lies between tokens."""
    raw, spans, at, last = MOVING.sub("0", raw), [], 0, 0
    pieces = [(m.start(), m.end(), m.group()) for m in re.finditer(TOKEN.pattern + r"|\[SECRET\]", clean)]
    for number, (start, end, token) in enumerate(pieces):
        at += len(clean[last:start])
        following = MOVING.sub("0", clean[end : pieces[number + 1][0] if number + 1 < len(pieces) else len(clean)])
        stop = raw.find(following, at) if following else (len(raw) if number + 1 == len(pieces) else at)
        stop = len(raw) - len(following) if number + 1 == len(pieces) else stop
        spans.append((at, max(stop, at), token))
        at, last = max(stop, at), end
    return spans


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, default=Path("tasks/specs/helpdesk_v1.toml"))
    parser.add_argument("--truth", type=Path, default=None)
    parser.add_argument("--misses", type=int, default=0, help="print that many misses and false alarms (synthetic data only)")
    chosen = parser.parse_args()
    spec = load_spec(chosen.spec)
    truth = chosen.truth or data_dir() / "truth" / spec.supplier
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
    raw, clean = events(records_dir(spec.supplier)), events(clean_dir(spec.supplier))
    by_ref = dict(clean.filter(pl.col("type") == "message").select("source_pos", "text").iter_rows())
    place = {ref: vault.place(ref) for ref in by_ref}
    clean_text = {p: by_ref[ref] for ref, p in place.items() if p}
    mentions = defaultdict(list)
    for row in rows(truth / "mentions.jsonl"):
        mentions[row["event_id"]].append(row)
    report(spec, raw, clean_text, mentions, vault, chosen.misses)
    links(spec, rows(truth / "identities.jsonl"), clean, vault)
    return 0


def report(
    spec: Any,
    raw: pl.DataFrame,
    clean_text: dict[tuple[str, str], str],
    mentions: dict[str, list[dict[str, Any]]],
    vault: Vault,
    show: int,
) -> None:
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    exact: Counter[str] = Counter()
    misses: list[str] = []
    false: list[str] = []
    spans_total = spans_right = 0
    tokens: dict[str, Counter[str]] = defaultdict(Counter)
    by_text: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    bodies: dict[str, list[dict[str, Any]]] = mentions
    messages = raw.filter(pl.col("type") == "message")
    by_ticket: dict[str, list[tuple[str, tuple[str, str]]]] = defaultdict(list)
    for record, text, file, position in messages.select("record_id", "text", "source_file", "source_pos").iter_rows():
        by_ticket[record].append((text, (file, position)))
    for stated in bodies.values():
        group = stated
        ticket = group[0]["ticket_id"]
        wanted = [m["text"] for m in group]
        fitting = [
            (text, where) for text, where in by_ticket[ticket] if all(text[m["start"] : m["end"]] == m["text"] for m in group)
        ]
        if not fitting:
            fitting = [(text, where) for text, where in by_ticket[ticket] if all(w in text for w in wanted)]
            for text, _ in fitting[:1]:
                group = [m | {"start": text.find(m["text"]), "end": text.find(m["text"]) + len(m["text"])} for m in group]
        for text, where in fitting[:1]:
            by_text[where].extend(m | {"raw": text} for m in group)
    for where, group in by_text.items():
        if where not in clean_text:
            continue
        text, new = group[0]["raw"], clean_text[where]
        spans = align(text, new)
        spans_total += len(spans)
        for mention in group:
            total[mention["form"]] += 1
            cover = [s for s in spans if s[0] <= mention["start"] and mention["end"] <= s[1]]
            found[mention["form"]] += bool(cover)
            exact[mention["form"]] += any((s[0], s[1]) == (mention["start"], mention["end"]) for s in cover)
            if cover:
                tokens[mention["identity"]][base_of(cover[0][2])] += 1
            elif len(misses) < show:
                misses.append(f"{mention['form']}: {mention['text']!r} ({mention['identity']}) in {new!r}")
        for start, end, token in spans:
            right = any(m["start"] < end and start < m["end"] for m in group)
            spans_right += right
            if not right and len(false) < show:
                false.append(f"{token} = {text[start:end]!r} in {text!r}")
    print(f"mentions placed: {sum(total.values())} of {sum(map(len, mentions.values()))}")
    for form in sorted(total):
        print(
            f"  recall {form:<12} {found[form] / total[form]:.4f}  exact bounds {exact[form] / total[form]:.4f}  of {total[form]}"
        )
    print(f"  recall, all      {sum(found.values()) / max(1, sum(total.values())):.4f}")
    print(f"precision of replaced spans: {spans_right / max(1, spans_total):.4f} of {spans_total}")
    same = sum(c * (c - 1) for counts in tokens.values() for c in counts.values())
    pairs = sum(sum(counts.values()) * (sum(counts.values()) - 1) for counts in tokens.values())
    owners: dict[str, Counter[str]] = defaultdict(Counter)
    for identity, counts in tokens.items():
        for token, c in counts.items():
            owners[token][identity] += c
    said = sum(sum(counts.values()) * (sum(counts.values()) - 1) for counts in owners.values())
    print(f"one token an identity, pairs of mentions: recall {same / max(1, pairs):.4f} precision {same / max(1, said):.4f}")
    for line in misses + false:
        print("  ", line[:400].replace("\n", " | "))


def links(spec: Any, identities: list[dict[str, Any]], clean: pl.DataFrame, vault: Vault) -> None:
    """Pairs of records that truth says are one person's, and how many got one token; pairs that should not, and did."""
    payload = Payload(spec, records_dir(spec.supplier), "benchmark", 0, 1)
    started = time.process_time()
    _, plan, _ = prepared(payload)
    seconds = time.process_time() - started
    shard = Shard(plan, plan.minter.fork())
    known = dict(plan.person_of)
    right = wrong = wanted = 0
    owner: dict[int, set[str]] = defaultdict(set)
    unlinked: list[str] = []
    for identity in identities:
        if identity["kind"] != "person":
            continue
        keys = [(r["system"], r["kind"], r["record_id"]) for r in identity["records"]]
        keys = [k for k in keys if k in known]
        for i, one in enumerate(keys):
            owner[known[one]].add(identity["identity"])
            for other in keys[:i]:
                wanted += 1
                right += known[one] == known[other]
                if known[one] != known[other]:
                    unlinked.append(identity["identity"])
    wrong = sum(len(ids) > 1 for ids in owner.values())
    share = len(plan.review) / max(1, wanted)
    print(
        f"identity links: recall {right / max(1, wanted):.4f} of {wanted} pairs; {wrong} persons that merge several identities;",
        end=" ",
    )
    print(f"{len(plan.review)} pairs to review ({share:.4f}); plan {seconds:.1f} CPU s; unlinked {unlinked[:8]}")
    del shard


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    code = main()
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB", file=sys.stderr)
    sys.exit(code)
