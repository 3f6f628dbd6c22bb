"""The edge of every command: what the operator can mend is one line and exit code 2; anything else is a traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from schemas.errors import RecordgymError

if TYPE_CHECKING:
    from rich.console import Console

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Why standard output takes no more, though somebody reads it."""
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
"""What the operator can mend at a file or folder: permissions and space."""


def run_command(main: Callable[[], int | None]) -> None:
    """Runs `main` and exits with its code (None = 0); a RecordgymError is one line on stderr and exit code 2.

    An interrupt is one line and 130; a reader that has gone (`| head`) is silent and 141, as of a program that SIGPIPE ended.
    """
    try:
        code = main() or 0
        sys.stdout.flush()
    except RecordgymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted; run the same command again: a stage goes on from what it finished", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        _drop_output()
        code = 141
    except OSError as error:
        if error.filename is None and error.errno in FULL:
            _drop_output()
            print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        elif error.filename is not None and error.errno in DENIED:
            print(f"error: {os.fsdecode(error.filename)}: {error.strerror}", file=sys.stderr)
        else:
            raise
        code = 2
    sys.exit(code)


def _drop_output() -> None:
    """What is still buffered goes nowhere: flushing it at the interpreter's end would fail once more, and loudly."""
    try:
        nowhere, out = os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
    except (OSError, ValueError):
        return  # standard output is no file (a test's buffer): nothing is flushed at the end
    os.dup2(nowhere, out)


def console(**options: Any) -> Console:
    """A rich console that leaves a reader that has gone to `run_command` (rich itself would exit with 1)."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(**options)
