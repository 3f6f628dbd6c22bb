"""One question to an OpenAI-compatible endpoint, and its answer as text.

Sent to the host that was named, and to no other: no redirect, no proxy of the environment. The wait is bounded as a whole,
however slowly the endpoint drips.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 64_000
"""Of an answer that are read."""
MAX_TOKENS = 300
"""Asked for."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """A redirect leads to a host that nobody named."""


def direct() -> urllib.request.OpenerDirector:
    """Opens addresses of the host that was named, by no proxy of the environment and following no redirect: what is sent comes
    from records."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


class Failed(Exception):  # noqa: N818 - counted, never seen outside
    """The endpoint gave no usable answer; the message is the kind of failure that is counted."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked."""

    host: str
    """Base address, e.g. "http://localhost:8000/v1"."""
    model: str
    key: str = ""
    """Sent as a bearer token; "" for none."""
    timeout_s: float = 10.0
    """Of one question, answer included."""

    def ask(self, system: str, user: str) -> str:
        """The answer's text, at temperature 0. Raises Failed."""
        found: list[str] = []
        failures: list[str] = []

        def work() -> None:
            try:
                found.append(self._request(system, user))
            except Failed as failed:
                failures.append(str(failed))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.timeout_s)
        if found:
            return found[0]
        raise Failed(failures[0] if failures else "timeout")

    def _request(self, system: str, user: str) -> str:
        body = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        }
        headers = {"Content-Type": "application/json", "User-Agent": "recordgym"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(f"{self.host.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers)
        try:
            with direct().open(request, timeout=self.timeout_s) as response:
                raw = response.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            error.close()
            raise Failed(f"status {error.code}") from error
        except TimeoutError as error:
            raise Failed("timeout") from error
        except (OSError, ValueError) as error:  # URLError, refused, reset, not HTTP
            raise Failed("timeout" if "timed out" in str(error) else "no connection") from error
        except Exception as error:  # http.client raises kinds of its own for a broken answer
            raise Failed("broken answer") from error
        if len(raw) > MAX_BYTES:
            raise Failed("answer too long")
        try:
            text = json.loads(raw)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise Failed("broken answer") from error
        if not isinstance(text, str):
            raise Failed("broken answer")
        return text
