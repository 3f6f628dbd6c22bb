"""A column was filled in afterwards on rows that are older than its value, so that no row can be shown as it stands.

Three grades. By evidence: the value stands in rows recorded before the instant that it names, or before the change that set it.
By declaration: it is the same in every row of a record, although the code book calls it known only afterwards. Suspect: the same
in every row of a record, and the code book does not say what it is (it names neither start nor static nor a planned time): the
supplier has to declare it. A suspect is shown and fails nothing, since most such columns are what they look like: attributes.
A column whose back-filling the code book has declared and that no task shows is waived by that declaration, and named.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._states import Column, Marks
from tasks.leaks._types import ColumnHistory, Finding, Leak, LeakInput, Verdict

FEWEST = 10
"""Records with two rows or more from which "constant within every record" says something."""
STRAY = 0.001
"""Share of rows that hold a value early by slips of the pen; more are evidence."""
DECLARED = ("post_hoc", "never")
KNOWN = ("start", "static")


def run(data: LeakInput) -> list[Finding]:
    if not data.columns:
        return [Finding("backfilled_column", "not_applicable", detail="nobody says when the columns' values stood there")]
    shown = _shown(data)
    findings = []
    for name, history in sorted(data.columns.items()):
        rule = data.code_book.fields.get(name)
        constant = history.records >= FEWEST and history.constant == history.records
        hidden = history.declared or (rule is not None and rule.known_at in DECLARED)
        path, tasks = f"columns/{name.replace('.', '/')}", shown.get(name, ())
        settled = rule is not None and rule.known_at in DECLARED and not tasks
        waiver = f"the code book says {rule.known_at}, and no task shows it" if settled and rule is not None else ""
        # Every task that shows the column is concerned: the export is at fault, and the set fails as a whole.
        verdict: Verdict = "waived" if settled else "failed"
        where = f"; shown by {len(tasks)} tasks" if tasks else ""
        early = 0 if rule is not None and rule.planned_future else history.early
        if early > STRAY * history.rows:
            detail = f"by evidence: {history.early} of {history.rows} rows hold it before its own time{where}"
            findings.append(Finding("backfilled_column", verdict, path, detail, (), waiver))
        elif constant and hidden:
            detail = f"by declaration: known only afterwards, and the same in every row of all {history.records} records{where}"
            findings.append(Finding("backfilled_column", verdict, path, detail, (), waiver))
        elif constant and not (rule is not None and (rule.known_at in KNOWN or rule.planned_future)):
            detail = f"suspect: the same in every row of all {history.records} records, and not declared; say when it is known"
            findings.append(Finding("backfilled_column", "suspect", path, detail))
        elif early:
            detail = f"suspect: {early} of {history.rows} rows hold it before its own time; say why"
            findings.append(Finding("backfilled_column", "suspect", path, detail))
    return findings


def _shown(data: LeakInput) -> dict[str, tuple[str, ...]]:
    """Field -> tasks whose state holds a value of it."""

    def name_of(column: Column) -> str | None:
        name = f"{column.system}.{column.kind}.{column.field}"
        return name if name in data.columns and column.sort != "NoneType" else None

    marks = Marks(data, name_of)
    found: dict[str, list[str]] = {}
    for task in data.tasks:
        for name in marks.of(task):
            found.setdefault(name, []).append(task.task_id)
    return {name: tuple(sorted(ids)) for name, ids in found.items()}


def planted(data: LeakInput) -> LeakInput:
    name = next(iter(sorted(data.columns)))
    return replace(data, columns={**data.columns, name: ColumnHistory(400, 120, 100, 100, declared=False)})


LEAK = Leak("backfilled_column", run, planted)
