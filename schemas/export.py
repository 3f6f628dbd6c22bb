"""JSON Schemas of everything that crosses a file, for readers in other languages: `schemas/json/<Model>.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.episode import EpisodeTrace, Journal, ToolCall
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, POLICY_COLUMNS, QUARANTINE_COLUMNS, RECORD_COLUMNS
from schemas.files import write_text
from schemas.manifest import Manifest
from schemas.proof import Placed, Proof
from schemas.records import CodeBook
from schemas.spec import Spec
from schemas.task import Answer, Certificate, LedgerRow, PolicySpec, TaskSpec, Trajectory
from schemas.taskset import SideManifest, TaskSetManifest

FOLDER = Path(__file__).parent / "json"
MODELS: tuple[type[BaseModel], ...] = (
    Answer,
    Certificate,
    CodeBook,
    EpisodeTrace,
    Journal,
    LedgerRow,
    Manifest,
    Placed,
    PolicySpec,
    Proof,
    SideManifest,
    Spec,
    TaskSetManifest,
    TaskSpec,
    ToolCall,
    Trajectory,
)
TABLES = {
    "events": EVENT_COLUMNS,
    "records": RECORD_COLUMNS,
    "links": LINK_COLUMNS,
    "policies": POLICY_COLUMNS,
    "quarantine": QUARANTINE_COLUMNS,
}
COLUMN_TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": ["string", "null"]},
    "int": {"type": ["integer", "null"]},
    "ts": {"type": ["string", "null"], "format": "date-time", "description": "UTC, microseconds"},
    "bool": {"type": ["boolean", "null"]},
}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def exported() -> dict[str, str]:
    """File name -> text of each schema; the Parquet tables are described as one row each."""
    found: dict[str, dict[str, Any]] = {f"{model.__name__}.json": model.model_json_schema() for model in MODELS}
    for name, columns in TABLES.items():
        found[f"{name}.parquet.json"] = {
            "title": f"{name}.parquet (one row)",
            "type": "object",
            "properties": {column: COLUMN_TYPES[kind] for column, kind in columns.items()},
            "required": list(columns),
            "additionalProperties": False,
        }
    return {
        name: json.dumps({"$schema": DIALECT, **schema}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for name, schema in sorted(found.items())
    }


def export(folder: Path = FOLDER) -> list[str]:
    """Writes every schema into `folder` and takes away those of types that are gone; returns the names. Raises StageError."""
    texts = exported()
    for name, text in texts.items():
        write_text(folder / name, text)
    for path in folder.glob("*.json"):
        if path.name not in texts:
            path.unlink()
    return list(texts)
