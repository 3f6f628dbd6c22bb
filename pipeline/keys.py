"""The token key of a spec, as the environment gives it: asked for before the first stage reads anything, and again by deid."""

from __future__ import annotations

import os

from schemas.errors import PrivacyError
from schemas.spec import Spec

MIN_KEY_BYTES = 16


def how_to_make(name: str) -> str:
    """The command that makes a key, for errors."""
    return f"make one, once, and keep it (with another key the tokens are others): export {name}=$(openssl rand -hex 32)"


def given_key(spec: Spec) -> bytes | None:
    """The key in the variable that the spec names, or None where the sample's own key file serves.

    Raises PrivacyError, with the command that makes a key, where there must be one and there is none, or it is too short.
    """
    name = spec.tokens.key_env
    value = os.environ.get(name, "").encode()
    if not value and spec.sample:
        return None
    if not value:
        raise PrivacyError(f"no token key in {name}; nothing was written; {how_to_make(name)}")
    if len(value) < MIN_KEY_BYTES:
        raise PrivacyError(
            f"the token key in {name} has {len(value)} bytes, allowed are {MIN_KEY_BYTES} or more; nothing was written; "
            f"{how_to_make(name)}"
        )
    return value
