"""Keys and tokens: HMAC-SHA256 over (scope, epoch, type, identity), shown as TYPE_9F3A21BC with a role suffix."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.keys import MIN_KEY_BYTES, given_key
from schemas.errors import PrivacyError
from schemas.paths import key_file
from schemas.spec import Spec

TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
ROLE = re.compile(r"(?<=_[0-9A-F]{8})_[A-Z]+\d*$")
MAX_SHIFT_WEEKS = 104


def load_key(spec: Spec, *, create: bool) -> bytes:
    """The token key: the variable that the spec names; for the sample only, else a key file (made where `create`).

    Raises PrivacyError where there is none or it is too short (pipeline.keys).
    """
    if value := given_key(spec):
        return value
    path = key_file(spec.supplier)
    if not path.exists():
        if not create:
            raise PrivacyError(f"no token key: neither {spec.tokens.key_env} nor {path}")
        _make_key(path)
        print(f"deid: made a token key for the sample in {path} (keep it: it opens the vault)", file=sys.stderr)
    key = path.read_bytes().strip()
    if len(key) < MIN_KEY_BYTES:
        raise PrivacyError(f"{path} holds less than {MIN_KEY_BYTES} bytes; delete it to have a new key made")
    return key


def _make_key(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise PrivacyError(f"cannot make the key file {path}: {error.strerror}; export the key instead") from error
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_hex(32).encode() + b"\n")


def derive(key: bytes, purpose: str) -> bytes:
    """A 32-byte key for one purpose; knowing one tells nothing about another."""
    return hmac.digest(key, b"recordgym\0" + purpose.encode(), hashlib.sha256)


def key_id(key: bytes) -> str:
    """Tells two keys apart without giving either away (16 hex digits)."""
    return derive(key, "id").hex()[:16]


def shift_weeks(key: bytes, supplier: str, epoch: int) -> int:
    """Whole weeks that all times of a supplier move back: in [-104, -1]."""
    number = int.from_bytes(derive(key, f"shift\0{supplier}\0{epoch}")[:8], "big")
    return -(1 + number % MAX_SHIFT_WEEKS)


def type_name(identity: str) -> str:
    """ "helpdesk.user" style names to the upper-case TYPE of a token; letters and single underscores only."""
    name = re.sub(r"[^A-Z]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", identity).upper()).strip("_")
    return {"ORGANISATION": "ORG", "ORGANIZATION": "ORG"}.get(name, name) or "ID"


def base_of(token: str) -> str:
    """ "PERSON_9F3A21BC_FIRST" -> "PERSON_9F3A21BC"."""
    return ROLE.sub("", token)


@dataclass(slots=True)
class Minter:
    """Mints tokens and sees to it that two identities never share one.

    A token that is taken moves to the next counter, in the order of minting: mint in sorted order where the whole
    must be deterministic.
    A `fork` sees what its base has minted and adds to itself only (shards fork the plan's minter; their own tokens
    are compared when joined).
    """

    key: bytes
    scope: str
    epoch: int
    base: Minter | None = None
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def fork(self) -> Minter:
        return Minter(self.key, self.scope, self.epoch, self)

    def owner(self, token: str) -> tuple[str, str] | None:
        """(type, identity) behind a token, or None."""
        return self.owners.get(token) or (self.base.owner(token) if self.base else None)

    def mint(self, identity_type: str, identity: str, scope: str = "") -> str:
        """The token of an identity. `scope` narrows it further (per_source: the source's name)."""
        kind = type_name(identity_type)
        owner = (kind, f"{scope}\0{identity}")
        if found := self.known.get(owner) or (self.base.known.get(owner) if self.base else None):
            return found
        for counter in range(1000):
            message = "\0".join([self.scope, str(self.epoch), kind, scope, identity, str(counter)])
            token = f"{kind}_{hmac.digest(self.key, message.encode(), hashlib.sha256)[:4].hex().upper()}"
            if self.owner(token) is None:
                self.owners[token] = owner
                self.known[owner] = token
                return token
        raise PrivacyError(f"more than 1000 tokens of type {kind} collide; there are too many identities for 8 hex digits")


def reference(key: bytes, file: str, position: str) -> str:
    """What stands for a place in the export: R and 16 hex digits that only the vault resolves."""
    return f"R{hmac.digest(key, chr(0).join([file, position]).encode(), hashlib.sha256)[:8].hex()}"
