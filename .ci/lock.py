"""Writes requirements.lock: the installed version of all that pyproject.toml's extras need, directly or not, and nothing else.

Run by `make lock` after a dependency was added to pyproject.toml and installed. Versions only: no hashes (torch's builds differ
by platform), no local version (`+cpu`), no addresses. GPU libraries that one platform's torch pulls in are left to pip.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# Everything that recordgym's extras need, with versions. Made by `make lock` (Python 3.11); installed by every make target.
"""
PER_PLATFORM = ("nvidia-", "cuda-", "triton")


def closure(requirements: list[str]) -> tuple[dict[str, str], list[str]]:
    """Canonical name -> installed version of all that `requirements` need here; and what is wrong (missing or too old)."""
    found: dict[str, str] = {}
    faults: list[str] = []
    seen: set[tuple[str, str]] = set()
    todo = [(Requirement(text), "pyproject.toml") for text in requirements]
    while todo:
        need, by = todo.pop()
        name = canonicalize_name(need.name)
        if name.startswith(PER_PLATFORM):
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            faults.append(f"{name} is not installed ({by} needs it)")
            continue
        version = Version(installed.version)
        if not need.specifier.contains(version, prereleases=True):
            faults.append(f"{name} {version} is installed, {by} needs {need.specifier}")
        found[name] = version.public
        for extra in ("", *sorted(need.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for text in installed.requires or []:
                further = Requirement(text)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    todo.append((further, name))
    return found, sorted(set(faults))


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += extra
    found, faults = closure(wanted)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        return 2
    lines = [f"{name}=={version}\n" for name, version in sorted(found.items())]
    (ROOT / "requirements.lock").write_text(HEAD + "".join(lines), encoding="utf-8")
    print(f"requirements.lock: {len(found)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
