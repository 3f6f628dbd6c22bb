"""An export folder looked at: files, tables, columns, links, histories, outcomes. Bounded memory; progress on long files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ingest.draft.changelogs import find_log
from ingest.draft.columns import profile_columns
from ingest.draft.files import MOST_FILES, found_files
from ingest.draft.histories import find_history
from ingest.draft.links import find_links
from ingest.draft.load import load, load_pages
from ingest.draft.model import FoundFile, Profile, Table
from ingest.draft.outcomes import find_kinds, find_openings, find_outcomes
from ingest.draft.pages import joined, objects
from ingest.draft.store import Store
from pipeline.progress import progress
from schemas.errors import SourceError


def profile(export: Path, *, quiet: bool = False) -> Profile:
    """Raises SourceError where there is no such folder; whatever lies in it becomes a finding and no error."""
    if not export.is_dir():
        found = "a file" if export.exists() else "nothing"
        raise SourceError(str(export), "", "no export folder", found=found, allowed="a folder")
    made = Profile(export, found_files(export))
    if len(made.files) == MOST_FILES:
        made.findings.append(f"more than {MOST_FILES:,} files: the rest was not looked at")
    with tempfile.TemporaryDirectory(prefix="draft-") as folder:
        store = Store(Path(folder))
        try:
            _load(store, made, quiet=quiet)
            _look(store, made, quiet=quiet)
        finally:
            store.close()
    return made


def _load(store: Store, made: Profile, *, quiet: bool) -> None:
    pages: dict[str, list[FoundFile]] = {}
    single = []
    for file in made.files:
        if file.kind == "zendesk":
            pages.setdefault(file.extra["page"], []).append(file)
        else:
            single.append(file)
    tables: list[Table] = []
    with progress("draft: read", sum(file.size for file in made.files), quiet=quiet) as advance:
        for name, files in pages.items():
            tables += load_pages(store, name, files, advance)
        databases = {Path(file.name).stem for file in single if file.kind == "sqlite"}
        together = objects(single)
        for name, files in together.items():
            tables += load_pages(store, name, files, advance)
        taken = {file.name for files in together.values() for file in files}
        for file in single:
            if file.name in taken:
                continue
            if file.kind == "sql_dump" and Path(file.name).stem in databases:
                made.findings.append(f"{file.name}: a dump beside the database of its name; the database is read")
                continue
            tables += load(store, file, advance if file.kind in ("ndjson", "zendesk") else lambda _: None)
    for table in joined(store, tables):
        for why, places in table.faults.items():
            made.findings.append(f"{table.file}: {why}: {places}")
        if not table.relation or not table.rows:
            if not table.faults:
                made.findings.append(f"{table.file}: {table.name} has no rows")
            continue
        if table.kind == "json" and table.rows == 1:
            made.findings.append(f"{table.file}: one JSON object, no table")
            continue
        name, more = table.name, 2
        while table.name in made.tables:
            table.name, more = f"{name}_{more}", more + 1
        made.tables[table.name] = table


def _look(store: Store, made: Profile, *, quiet: bool) -> None:
    tables = made.tables
    with progress("draft: look at tables", 2 * len(tables), quiet=quiet) as advance:
        for table in tables.values():
            profile_columns(store, table)
            advance()
        for table in tables.values():
            table.log = find_log(store, table, tables)
        logged = {table.log.of for table in tables.values() if table.log}
        for table in tables.values():
            if table.log is None and table.name not in logged and table.kind != "zendesk":
                table.history = find_history(store, table)
            advance()
    made.links = find_links(store, tables)
    made.outcomes = find_outcomes(store, made)
    made.kinds = find_kinds(store, made)
    made.openings = find_openings(made)
