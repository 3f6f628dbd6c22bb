"""`python -m schemas export`: writes the JSON Schemas of everything that crosses a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from schemas.errors import RecordgymError
from schemas.export import FOLDER, export


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m schemas", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("export", help="write schemas/json/*.json again, after a change of a type that crosses a file")
    command.add_argument("--out", type=Path, default=FOLDER, help="folder to write into (default: schemas/json)")
    arguments = parser.parse_args()
    try:
        names = export(arguments.out)
    except RecordgymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(names)} schemas")
    return 0


if __name__ == "__main__":
    sys.exit(main())
