"""What lies in the folder of a repository beside the base commit's own files: other repositories, bundles, packs, patches."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

READ = 8 * 1024 * 1024
"""Bytes of a file that are looked at."""
_PATCH = re.compile(rb"^diff --git \S|^--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@ -\d|^From [0-9a-f]{40} ", re.MULTILINE)
_HEADS = {
    b"# v2 git bundle": "a bundle",
    b"# v3 git bundle": "a bundle",
    b"PACK\x00\x00\x00": "a pack",
    b"\xfftOc": "a pack's index",
}


def is_repository(folder: Path) -> bool:
    """True for the folder that git keeps its objects in: a bare repository, a ".git", a submodule's below ".git/modules"."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def repositories_below(folder: Path) -> Iterator[Path]:
    """Folders of objects below `folder`, itself left out, the inside of one not looked at again but for its own modules."""
    for place, names, _ in os.walk(folder):
        here = Path(place)
        if here != folder and is_repository(here):
            names[:] = ["modules"] if "modules" in names else []
            yield here
        elif here == folder and ".git" in names:
            names.remove(".git")
        names.sort()


def beside(folder: Path, blobs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(path, what) of the files below `folder` that hold commits or changes and are not the base's own.

    `blobs`: path -> object id of each file of the base. Files inside folders of objects are git's business, not looked at here.
    """
    for place, names, files in os.walk(folder):
        here = Path(place)
        names[:] = sorted(n for n in names if n != ".git" and not is_repository(here / n))
        for name in sorted(files):
            path = here / name
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                raw = file.read(READ)
            what = next((what for head, what in _HEADS.items() if raw.startswith(head)), "a patch" if _PATCH.search(raw) else "")
            where = path.relative_to(folder).as_posix()
            if what and not _same(path, blobs.get(where, "")):
                yield where, what


def _same(path: Path, blob: str) -> bool:
    """True where a file is what the object is, line ends aside."""
    if not blob:
        return False
    raw = path.read_bytes()
    kind = hashlib.sha1 if len(blob) == 40 else hashlib.sha256
    return any(kind(b"blob %d\x00" % len(one) + one).hexdigest() == blob for one in (raw, raw.replace(b"\r\n", b"\n")))
