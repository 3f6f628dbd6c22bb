"""The edge of every command: what the operator can mend is one line and exit code 2; anything else is a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from schemas.errors import RecordgymError


def run_command(main: Callable[[], int | None]) -> None:
    """Runs `main` and exits with its code (None = 0); a RecordgymError is one line on stderr and exit code 2."""
    try:
        code = main() or 0
    except RecordgymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted: finished work is kept; run the same command to continue", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        code = 141
    sys.exit(code)
