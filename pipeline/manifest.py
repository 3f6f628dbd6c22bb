"""The manifest that each stage writes last: its presence, with matching hashes, is what "finished" means."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

from pydantic import ValidationError

from schemas.errors import SourceError, StageError
from schemas.files import read_json, sha256_file
from schemas.manifest import Manifest

__all__ = ["MANIFEST", "SCHEMA_VERSION", "Manifest", "code_version", "damaged", "read_manifest", "require_stage"]
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"


@cache
def code_version(*packages: str) -> str:
    """Digest (16 hex digits) of the Python and template files of `packages`, so that a changed stage runs again."""
    digest = hashlib.sha256()
    for package in sorted(packages):
        module = import_module(package)
        root = Path(next(iter(module.__path__)))
        for path in sorted(root.rglob("*")):
            if path.suffix in {".py", ".j2"} and "__pycache__" not in path.parts:
                digest.update(f"{package}/{path.relative_to(root).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def read_manifest(folder: Path, name: str = MANIFEST) -> Manifest:
    """The manifest of a finished stage folder. Raises StageError where it is missing or not one."""
    path = folder / name
    if not path.exists():
        raise StageError(f"{folder} holds no finished stage ({name} is missing); run the stage before this one")
    try:
        return Manifest.model_validate(read_json(path))
    except (ValidationError, SourceError) as error:
        raise StageError(f"{path} is not a manifest of this version; delete {folder} and run the stage again") from error


def damaged(folder: Path, manifest: Manifest) -> str | None:
    """Name of the first output that is missing or changed since it was published, or None."""
    for name, digest in sorted(manifest.files.items()):
        path = folder / name
        if not path.is_file() or sha256_file(path) != digest:
            return name
    return None


def require_stage(folder: Path, stage: str) -> Manifest:
    """The manifest of `folder`, which must be the whole output of `stage`; StageError names the damaged file otherwise."""
    manifest = read_manifest(folder)
    if manifest.stage != stage:
        raise StageError(f"{folder} is the output of {manifest.stage!r}, not of {stage!r}")
    if bad := damaged(folder, manifest):
        raise StageError(f"{folder / bad} is missing or was changed after `{stage}` wrote it; run `python -m {stage}` again")
    return manifest
