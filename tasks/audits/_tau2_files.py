"""What a tau2-bench checkout holds, read as data: domains, tasks, splits, and which commit it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import read_json, sha256_file
from tasks.audits._types import chosen

DOMAINS = Path("data/tau2/domains")
CODE = Path("src/tau2/domains")
Task = dict[str, Any]


def check_checkout(path: Path) -> None:
    """Raises StageError where `path` is not a tau2-bench checkout."""
    if not path.is_dir():
        raise StageError(f"{path} is not a folder; give the root of a tau2-bench checkout (tau2:PATH)")
    missing = [str(part) for part in (DOMAINS, CODE) if not (path / part).is_dir()]
    if missing:
        raise StageError(f"{path} is not a tau2-bench checkout: it has no {' and no '.join(missing)}")


def choose_domains(path: Path, wanted: Sequence[str]) -> list[str]:
    """The domains asked for, or all of the checkout's. Raises StageError with a "did you mean" for an unknown one."""
    there = sorted(p.parent.name for p in (path / CODE).glob("*/environment.py"))
    if not there:
        raise StageError(f"{path / CODE} holds no domain (a folder with environment.py)")
    return chosen(path / CODE, there, wanted)


def missing_data(path: Path, domain: str) -> str:
    """Why a domain cannot be run for want of a file, or "". A snapshot may lack its largest files."""
    folder = path / DOMAINS / domain
    if not (folder / "tasks.json").is_file():
        return f"{DOMAINS / domain / 'tasks.json'} is missing"
    if not list(folder.glob("db.*")):
        return f"{DOMAINS / domain / 'db.json'} is missing (large files may be absent from a snapshot)"
    pointers = [
        p for p in sorted(folder.glob("*.json")) if p.stat().st_size < 300 and p.read_bytes().startswith(b"version https://")
    ]
    return f"{pointers[0].relative_to(path)} is a Git LFS pointer and not the file" if pointers else ""


def read_tasks(path: Path, domain: str) -> tuple[list[Task], dict[str, list[str]]]:
    """The tasks that the benchmark runs by default (its split "base", else all), and its splits."""
    folder = path / DOMAINS / domain
    held = read_json(folder / "tasks.json")
    tasks = held["tasks"] if isinstance(held, dict) else held
    if not isinstance(tasks, list) or not all(isinstance(t, dict) and "id" in t and "user_scenario" in t for t in tasks):
        raise StageError(f"{folder / 'tasks.json'}: found something else than a list of tasks with id and user_scenario")
    splits = read_json(folder / "split_tasks.json") if (folder / "split_tasks.json").is_file() else {}
    base = set(splits.get("base") or [t["id"] for t in tasks])
    return [t for t in tasks if t["id"] in base], {k: list(v) for k, v in splits.items()}


def source(path: Path, domains: Sequence[str]) -> str:
    """The commit as the folder's git files say it, and a digest of the data that was read."""
    files = [path / DOMAINS / d / n for d in domains for n in ("tasks.json", "db.json", "db.toml", "split_tasks.json")]
    digests = {str(f.relative_to(path)): sha256_file(f)[:12] for f in files if f.is_file()}
    short = ", ".join(f"{name.removeprefix(str(DOMAINS) + '/')} {digest}" for name, digest in digests.items())
    return f"{_version(path)}commit {_commit(path) or 'unknown (no git folder)'}; sha256 of its data: {short}"


def _version(path: Path) -> str:
    declared = path / "pyproject.toml"
    found = (
        re.search(r'^version\s*=\s*"([^"]+)"', declared.read_text(encoding="utf-8"), re.MULTILINE) if declared.is_file() else None
    )
    return f"version {found[1]}, " if found else ""


def _commit(path: Path) -> str:
    """Read by hand: a git command would run what the folder's own configuration names."""
    git = path / ".git"
    if not (git / "HEAD").is_file():
        return ""
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    if (git / name).is_file():
        return (git / name).read_text(encoding="utf-8").strip()
    packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines() if (git / "packed-refs").is_file() else []
    return next((line.split(" ")[0] for line in packed if line.endswith(f" {name}")), "")
