"""JSON, JSON lines and content-addressed files, written atomically (temporary name, then rename)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import SourceError, StageError

M = TypeVar("M", bound=BaseModel)
JSON = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""


def canonical_json(value: JSON) -> str:
    """One text per value: sorted keys, no spaces, UTF-8; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_json(value: JSON) -> str:
    """Hex digest of the canonical text of `value`."""
    return sha256_text(canonical_json(value))


def sha256_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_text(path: Path, text: str) -> None:
    """Writes `text` so that a reader sees the old file or the new one, never a part. Raises StageError where it may not write."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StageError(f"cannot write {path}: {error.strerror}") from error


def write_json(path: Path, value: JSON) -> None:
    write_text(path, json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> JSON:
    """Raises StageError for a missing file and SourceError (file, line) for text that is not JSON in UTF-8."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StageError(f"{path} is missing") from error
    except OSError as error:
        raise StageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(str(path), f"byte {error.start}", "not UTF-8") from error
    except json.JSONDecodeError as error:
        raise SourceError(str(path), f"{error.lineno}", f"not JSON ({error.msg})") from error


def write_models(path: Path, rows: Iterable[BaseModel]) -> int:
    """Writes one canonical JSON object a line and returns how many."""
    lines = [canonical_json(row.model_dump(mode="json")) for row in rows]
    write_text(path, "".join(line + "\n" for line in lines))
    return len(lines)


def read_models(path: Path, model: type[M]) -> Iterator[M]:
    """Reads JSON lines into `model`; SourceError names the line of the first row that does not fit."""
    try:
        handle = path.open("rb")
    except FileNotFoundError as error:
        raise StageError(f"{path} is missing") from error
    except OSError as error:
        raise StageError(f"cannot read {path}: {error.strerror}") from error
    with handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            try:
                yield model.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                where = ".".join(str(part) for part in first["loc"])
                raise SourceError(str(path), str(number), f"not a {model.__name__}: {first['msg']}", field=where) from error


def put_content(folder: Path, value: JSON) -> str:
    """Stores `value` as `folder/<sha256 of its canonical text>` and returns the digest; storing twice is a no-op."""
    text = canonical_json(value)
    digest = sha256_text(text)
    path = folder / digest
    if not path.exists():
        write_text(path, text)
    return digest


def get_content(folder: Path, digest: str) -> JSON:
    """Reads a stored value; StageError where it is missing or its bytes do not match its name."""
    path = folder / digest
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StageError(f"{path} is missing") from error
    if sha256_text(text) != digest:
        raise StageError(f"{path}: the bytes do not match the name; the task set was changed after it was built")
    return json.loads(text)
