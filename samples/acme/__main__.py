"""`python -m samples.acme FOLDER`: copies the export of `samples/acme` there and makes its database."""

from __future__ import annotations

import argparse
import shutil
import sqlite3
from pathlib import Path

from pipeline.cli import run_command
from schemas.errors import StageError

EXPORT = Path(__file__).with_name("export")
SCRIPT, DATABASE = "shop.sql", "shop.sqlite"


def make(folder: Path) -> None:
    """Raises StageError where something is there already."""
    if folder.exists():
        raise StageError(f"{folder} is there already; name a folder that is not")
    shutil.copytree(EXPORT, folder)
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.executescript((folder / SCRIPT).read_text(encoding="utf-8"))
    connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m samples.acme", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the export goes; must not be there")
    folder = parser.parse_args().folder
    make(folder)
    print(f"made {folder}; its spec is samples/acme/acme_v1.toml")
    return 0


if __name__ == "__main__":
    run_command(main)
