"""`python -m tasks audit NAME:PATH`: the shortcut panel and the certificates that apply, on somebody else's task set.

What is measured is the audit's own (tasks/audits/<name>.py); this is its edge: arguments in, a table, JSON and one HTML page out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.cli import console
from schemas.errors import StageError
from schemas.files import write_json, write_text
from schemas.plugins import load_plugin, load_plugins
from tasks.audits._types import Asked, Audit, AuditResult, Measure

FOLDER = "tasks.audits"
WIDTH = 132
"""Columns of the table where the output is not a terminal."""
DESCRIPTION = """\
Audits somebody else's task set with our certificates: does an agent pass that does nothing, that only knows the right writes,
that writes a wrong value; does each gold path run; who stands on both sides of the split. Without a GPU or a language model.

  python -m tasks audit tau2:PATH                                every domain that is there
  python -m tasks audit tau2:PATH --domain airline,retail        some of them
  python -m tasks audit tau2:PATH --limit 5                      the first five tasks of each, to try it
  python -m tasks audit tau2:PATH --json a.json --html a.html    all figures with task ids; a page to hand on

How to read it: "23/50" = 23 of 50; "11+7/114" = 11 for certain, 7 more unless a language model, which is part of that benchmark's
grader and is not asked here, says no. "wanted" is what a certificate of ours demands of each task.
Exit code 0: the audit ran (what it finds is its product, not a failure); 2: nothing could be audited, and why.

Audits (a further one is a file of its own in tasks/audits, see CONTRIBUTING.md):
"""


def _parser() -> argparse.ArgumentParser:
    audits = load_plugins(FOLDER, "AUDIT", Audit)
    listed = "\n".join(f"  {audit.name:<10} {audit.about}" for audit in audits.values())
    parser = argparse.ArgumentParser(
        prog="python -m tasks audit",
        description=DESCRIPTION + listed,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="NAME:PATH", help="which audit, and where the task set lies, e.g. tau2:../tau2-bench")
    parser.add_argument("--domain", metavar="A,B", default="", help="only these domains (default: every one that is there)")
    parser.add_argument("--limit", metavar="N", type=int, help="only the first N tasks of each domain")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure, with task ids")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the table as one page without references to other hosts")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Runs one audit and prints its table; StageError or WorldError for what the caller can mend."""
    asked = _parser().parse_args(arguments)
    name, colon, path = asked.target.partition(":")
    if not (name and colon and path):
        raise StageError(f"found {asked.target!r}, allowed NAME:PATH, e.g. tau2:../tau2-bench")
    audit = load_plugin(FOLDER, name, "AUDIT", Audit)
    domains = tuple(part.strip() for part in asked.domain.split(",") if part.strip())
    for file in (asked.json, asked.html):
        if file is not None and not file.resolve().parent.is_dir():
            raise StageError(f"{file}: its folder does not exist")
    result = audit.run(Asked(Path(path), domains, asked.limit, asked.quiet))
    show(result)
    if asked.json is not None:
        write_json(asked.json, as_json(result))
    if asked.html is not None:
        write_text(asked.html, as_html(result))
    return 0


def as_json(result: AuditResult) -> dict[str, Any]:
    """The result with its lists as lists; the same bytes for the same result."""
    found: dict[str, Any] = asdict(result)
    return found


def figure(measure: Measure | None) -> str:
    """A cell of the table: "23/50 46%", "11+7/114 10-16%", "-" where it does not apply."""
    if measure is None or not measure.applies:
        return "-"
    judged = f"+{measure.judged}" if measure.judged else ""
    least, most = measure.count, measure.count + measure.judged
    shares = [f"{100 * n / measure.of:.0f}" for n in dict.fromkeys((least, most))] if measure.of else []
    return f"{measure.count}{judged}/{measure.of}" + (f" {'-'.join(dict.fromkeys(shares))}%" if shares else "")


def off(measure: Measure | None) -> bool:
    """True where the figure is not what a certificate of ours demands, whatever a judge would say."""
    if measure is None or not measure.applies:
        return False
    if measure.wanted == "0":
        return measure.count > 0
    return measure.wanted == "all" and measure.count + measure.judged < measure.of


def rows(result: AuditResult) -> list[tuple[Measure, list[Measure | None]]]:
    """Each line of the table with its cells, in the order of the domains; lines that apply nowhere are left out."""
    by_domain = [{m.key: m for m in d.measures} for d in result.domains]
    lines = [(key, [held.get(key) for held in by_domain]) for key in dict.fromkeys(key for held in by_domain for key in held)]
    applying = [(cells, [c for c in cells if c is not None and c.applies]) for _, cells in lines]
    return [(there[0], cells) for cells, there in applying if there]


def notes(result: AuditResult, key: str) -> list[str]:
    """How a line was measured: once where every domain says the same, else by domain."""
    said = {d.name: m.note for d in result.domains for m in d.measures if m.key == key and m.note}
    if len(set(said.values())) == 1 and len(said) == len(result.domains):
        return [next(iter(said.values()))]
    return [f"{name}: {note}" for name, note in said.items()]


def inapplicable(result: AuditResult) -> list[Measure]:
    shown = {m.key for m, _ in rows(result)}
    return list({m.key: m for d in result.domains for m in d.measures if m.key not in shown}.values())


def show(result: AuditResult) -> None:
    """Prints the table and what a reader must know of it."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    screen = console(highlight=False)
    if not screen.is_terminal:
        screen = console(highlight=False, width=WIDTH)
    screen.print(escape(f"audit {result.audit}: {result.source.partition(';')[0]}"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("counted")
    table.add_column("wanted", justify="right")
    for domain in result.domains:
        table.add_column(f"{domain.name}\n{domain.tasks} tasks", justify="right")
    for measure, cells in rows(result):
        told = [f"[bold red]{figure(c)}[/]" if off(c) else figure(c) for c in cells]
        table.add_row(measure.certificate, escape(measure.label), measure.wanted, *told)
    screen.print(table)
    for measure in inapplicable(result):
        screen.print(f"{measure.certificate} {escape(measure.label)}: {escape(measure.note)}")
    for name, why in result.not_run.items():
        screen.print(f"[bold red]not run:[/] domain {escape(name)}: {escape(why)}")
    for domain in result.domains:
        for note in domain.notes:
            screen.print(f"{escape(domain.name)}: {escape(note)}")
    for note in result.notes:
        screen.print(escape(note))
    screen.print(escape(f"Isolation: {result.isolation}."))


def as_html(result: AuditResult) -> str:
    """One HTML page: no script, no reference to another host; the same text for the same result."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(Path(__file__).with_name("audit.html.j2").read_text(encoding="utf-8"))
    return (
        template.render(result=result, rows=rows(result), notes=notes, inapplicable=inapplicable(result), figure=figure, off=off)
        + "\n"
    )
