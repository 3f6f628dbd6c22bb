"""Somebody else's code runs in a process of its own: no environment variables, no network, files only to read.

With bubblewrap (`bwrap`) the kernel holds this: new namespaces, a root that holds the interpreter, the system's libraries and the
named folders, all read-only. Without it, what holds is what the driver forbids itself (see its audit hook): a guard against
accidents, and no wall against hostile code. `Isolated.says` tells which of the two it was.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from schemas.errors import StageError

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives")
BARE = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
WALLED = (
    "separate process under bubblewrap: no network, no environment variables, every file read-only, only the checkout visible"
)
GUARDED = (
    "separate process without bubblewrap ({why}): no environment variables; sockets, processes and writing files are refused by "
    "the driver's own audit hook, which guards against accidents and not against hostile code"
)


def _bwrap(readable: Sequence[Path]) -> list[str]:
    folders = [Path(sys.prefix), Path(sys.base_prefix), *readable]
    binds = [part for folder in (*SYSTEM, *map(str, folders)) for part in ("--ro-bind-try", folder, folder)]
    variables = [part for name, value in BARE.items() for part in ("--setenv", name, value)]
    fixed = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
    return ["bwrap", *fixed, "--tmpfs", "/tmp", *binds, *variables, "--chdir", "/"]


def _python() -> list[str]:
    return [sys.executable, "-s", "-P", "-B"]


def wall(readable: Sequence[Path]) -> tuple[list[str], str]:
    """What to put before a command, and how that isolates it; tried once, since a machine may have bwrap and forbid it."""
    if shutil.which("bwrap") is None:
        return [], GUARDED.format(why="it is not installed")
    command = _bwrap(readable)
    tried = subprocess.run([*command, *_python(), "-c", "pass"], capture_output=True, text=True, env={}, check=False)
    if tried.returncode != 0:
        return [], GUARDED.format(why="it cannot run here")
    return command, WALLED


FOLLOWED = """
import os, runpy, sys, threading, time
parent = os.getppid()
def watch():
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a driver that ends soon after its parent was killed, whatever it is at; behind bwrap, that sees to it."""


class Isolated:
    """A driver that answers one JSON line for each line asked. Use as a context."""

    def __init__(self, driver: Path, arguments: Sequence[str], readable: Sequence[Path], *, timeout_s: float = 600.0) -> None:
        before, self.says = wall([*readable, driver])
        self._timeout_s = timeout_s
        self._process = subprocess.Popen(
            [*before, *_python(), "-c", FOLLOWED, str(driver), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=BARE,
            cwd="/",
            text=True,
            encoding="utf-8",
        )
        self.first: dict[str, Any] = {}
        """What the driver says unasked, once it has loaded the audited code."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to `request`; {"fault": why} if the code there raised. StageError if the process ended or hangs."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise StageError(f"the audited code ended its process (exit code {self._process.wait()})") from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        clock = threading.Timer(self._timeout_s, self._process.kill)
        clock.daemon = True
        clock.start()
        try:
            line = self._process.stdout.readline()
        finally:
            clock.cancel()  # an interrupt too: the process would wait for the clock before it ends
        if not line:
            code = self._process.wait()
            raise StageError(
                f"the audited code ended its process (exit code {code}) or gave no answer in {self._timeout_s:.0f} s"
            )
        return dict(json.loads(line))

    def __enter__(self) -> Isolated:
        try:
            self.first = self._answer()
        except StageError:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):  # a request that was never read goes with the process
            self._process.stdin.close()
        self._process.stdout.close()
