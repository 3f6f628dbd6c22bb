"""Files that are one table in pieces: a file a day, a file an object."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from ingest.draft.model import FoundFile, Table
from ingest.draft.store import ROW, Store, quoted

FEWEST = 3
"""Files of one folder with the same columns from which they count as pieces of one table."""
LARGEST = 1 << 20
"""Bytes of a JSON file that is looked into for its keys."""


def objects(files: list[FoundFile]) -> dict[str, list[FoundFile]]:
    """Name of a folder -> its JSON files that are one object each, with the same keys, where there are FEWEST or more."""
    alike: dict[tuple[str, frozenset[str]], list[FoundFile]] = {}
    for file in files:
        if file.kind == "json" and not file.gzipped and file.size <= LARGEST and (keys := _keys(file)):
            alike.setdefault((str(PurePosixPath(file.name).parent), keys), []).append(file)
    found: dict[str, list[FoundFile]] = {}
    for (folder, _), held in alike.items():
        if len(held) >= FEWEST:
            name, more = PurePosixPath(folder).name or "objects", 2
            while name in found:
                name, more = f"{PurePosixPath(folder).name or 'objects'}_{more}", more + 1
            found[name] = held
    return found


def _keys(file: FoundFile) -> frozenset[str]:
    try:
        found = json.loads(file.path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return frozenset(found) if isinstance(found, dict) else frozenset()


def joined(store: Store, tables: list[Table]) -> list[Table]:
    """The tables, those of CSV files of one folder with the same columns as one, whose rows are numbered on from file to file."""
    groups: dict[tuple[str, ...], list[Table]] = {}
    kept: list[Table] = []
    for table in tables:
        if table.kind == "csv" and table.relation:
            names = store.columns(table.relation)
            groups.setdefault((str(PurePosixPath(table.file).parent), *names), []).append(table)
        else:
            kept.append(table)
    for (folder, *_), held in groups.items():
        kept += [_one(store, folder, held)] if len(held) >= FEWEST else held
    return kept


def _one(store: Store, folder: str, held: list[Table]) -> Table:
    relation, before, picks = store.new_name(), 0, []
    faults: dict[str, str] = {}
    for table in held:
        picks.append(f"SELECT {quoted(ROW)} + {before} AS {quoted(ROW)}, * EXCLUDE {quoted(ROW)} FROM {table.relation}")
        before += table.rows
        faults |= {f"{PurePosixPath(table.file).name}: {why}": places for why, places in table.faults.items()}
    store.run(f"CREATE TABLE {relation} AS {' UNION ALL '.join(picks)}")
    for table in held:
        store.run(f"DROP TABLE {table.relation}")
    name = PurePosixPath(folder).name or "files"
    told = f"{held[0].file} and {len(held) - 1} files more with the same columns (rows are numbered through)"
    return Table(name, relation, told, "csv", before, faults=faults)
