"""Where things lie. Everything but keys and vaults is under `data/` of the working directory (or RECORDGYM_DATA)."""

from __future__ import annotations

import os
from pathlib import Path


def data_dir() -> Path:
    """Root of all stage folders: `$RECORDGYM_DATA`, by default `data` in the working directory."""
    return Path(os.environ.get("RECORDGYM_DATA", "data"))


def raw_dir(supplier: str) -> Path:
    return data_dir() / "raw" / supplier


def records_dir(supplier: str) -> Path:
    """Output of `ingest`: identifiable; stays on the supplier's side."""
    return data_dir() / "records" / supplier


def clean_dir(supplier: str) -> Path:
    """Output of `deid`: pseudonymised."""
    return data_dir() / "clean" / supplier


def taskset_dir(name: str) -> Path:
    return data_dir() / "tasksets" / name


def runs_dir() -> Path:
    return data_dir() / "runs"


def home_dir() -> Path:
    """Keys and vaults, always outside `data/`: `$RECORDGYM_HOME`, by default `~/.recordgym`."""
    return Path(os.environ.get("RECORDGYM_HOME", str(Path.home() / ".recordgym")))


def key_file(supplier: str) -> Path:
    return home_dir() / "keys" / f"{supplier}.key"


def vault_file(supplier: str) -> Path:
    return home_dir() / "vault" / f"{supplier}.vault"
