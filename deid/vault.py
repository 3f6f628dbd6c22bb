"""The way back: token -> originals, reference -> place in the export, and the shift of dates. Encrypted, outside
`data/`, same content same bytes.

File: a magic line, a line of JSON with the offsets of the buckets, then the buckets, each compressed and sealed with
AES-SIV (deterministic,
authenticated) under a key derived from the token key. A look-up opens one bucket. Does not cover: a reader who has the key.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deid.tokens import derive
from schemas.errors import PrivacyError
from schemas.files import canonical_json

MAGIC = b"recordgym vault 1\n"
META = "meta"
REFERENCE = re.compile(r"R[0-9a-f]{16}")


def seal(key: bytes, value: Any, label: str) -> bytes:
    """Encrypts a JSON value; `label` binds the bytes to their place."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(derive(key, "vault") + derive(key, "vault mac")).encrypt(
        zlib.compress(canonical_json(value).encode(), 6), [label.encode()]
    )


def unseal(key: bytes, data: bytes, label: str) -> Any:
    """Raises PrivacyError where the key is another one or the bytes were changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    try:
        plain = AESSIV(derive(key, "vault") + derive(key, "vault mac")).decrypt(data, [label.encode()])
    except InvalidTag:
        raise PrivacyError("the vault does not open: it was sealed with another key, or its bytes were changed") from None
    return json.loads(zlib.decompress(plain))


def bucket_of(name: str) -> str:
    """Tokens and references are spread over buckets by their last hex digits before the role."""
    if REFERENCE.fullmatch(name):
        return f"ref-{name[1:3]}"
    digits = next((p for p in reversed(name.split("_")) if len(p) == 8 and set(p) <= set("0123456789ABCDEF")), name)
    return f"token-{digits[:2]}"


def write_vault(
    path: Path, key: bytes, tokens: Mapping[str, Iterable[str]], refs: Mapping[str, tuple[str, str]], meta: Mapping[str, Any]
) -> None:
    """Writes the whole vault atomically, mode 0600. Raises PrivacyError where it cannot (then nothing may be published)."""
    buckets: dict[str, dict[str, Any]] = defaultdict(dict)
    for token, originals in tokens.items():
        buckets[bucket_of(token)][token] = sorted(originals)
    for ref, place in refs.items():
        buckets[bucket_of(ref)][ref] = list(place)
    buckets[META] = dict(meta)
    index, blobs, at = {}, [], 0
    for name in sorted(buckets):
        blob = seal(key, buckets[name], name)
        index[name] = [at, len(blob)]
        blobs.append(blob)
        at += len(blob)
    write_private(path, MAGIC + canonical_json(index).encode() + b"\n" + b"".join(blobs))


def write_private(path: Path, data: bytes) -> None:
    """Atomic and durable, readable by the owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise PrivacyError(f"cannot write {path}: {error.strerror}; nothing was published") from error


def require_writable(path: Path) -> None:
    """PrivacyError where a vault could not be written to `path`: told before hours of work, not after."""
    probe = path.with_name(f".{path.name}.probe")
    write_private(probe, b"")
    probe.unlink()
    if path.is_dir():
        raise PrivacyError(f"cannot write {path}: it is a folder; nothing was published")


class Vault:
    """Opens one bucket a look-up."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self.key = path, key
        try:
            data = path.read_bytes()
        except OSError as error:
            raise PrivacyError(f"no vault at {path} ({error.strerror}); run `python -m deid` with the same key") from error
        if not data.startswith(MAGIC):
            raise PrivacyError(f"{path} is not a vault of this version")
        head, _, self._blobs = data[len(MAGIC) :].partition(b"\n")
        try:
            self._index: dict[str, list[int]] = json.loads(head)
        except ValueError:
            raise PrivacyError(f"{path} is damaged") from None
        self._open: dict[str, dict[str, Any]] = {}
        self.meta = self._bucket(META)

    def _bucket(self, name: str) -> dict[str, Any]:
        if name not in self._open:
            if name not in self._index:
                return {}
            at, size = self._index[name]
            found: dict[str, Any] = unseal(self.key, self._blobs[at : at + size], name)
            self._open[name] = found
        return self._open[name]

    def originals(self, token: str) -> list[str]:
        """Every way in which the token's original was written; empty for an unknown token."""
        return list(self._bucket(bucket_of(token)).get(token, []))

    def place(self, reference: str) -> tuple[str, str] | None:
        """(file, position) in the export, or None."""
        found = self._bucket(bucket_of(reference)).get(reference) if REFERENCE.fullmatch(reference) else None
        return (found[0], found[1]) if found else None

    def tokens(self) -> dict[str, list[str]]:
        """The whole of token -> originals (the leak scan needs it)."""
        return {t: o for name in sorted(self._index) if name.startswith("token-") for t, o in self._bucket(name).items()}
