"""A generation engine in a process of its own: token ids in, token ids and log-probabilities out, weights pushed to it.

`Engine` is all that the rollout (`engine_rollout.py`) knows of one. `Vllm` speaks to a vLLM server over HTTP with the standard
library alone; vLLM's own pins clash with ours, so it has its own environment and is started beside the trainer:

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs

The development mode opens the endpoints that take weights, so the server belongs on a network that nobody else reaches.
Processed log-probabilities are those after temperature and allowed ids, which are what was sampled from.

Each wait has a limit. An engine that hangs, dies, refuses or answers nonsense ends the run with one line, and the last checkpoint
stays whole: once the engine runs again, the same command goes on.
"""

from __future__ import annotations

import http.client
import json
import math
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from environments.endpoint import direct
from schemas.errors import StageError
from training import checkpoint, team
from training.policy import Policy
from training.shard import whole

AT_ONCE = 64
"""Requests on their way at the same time; the server batches them."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be sampled."""

    ids: tuple[int, ...]
    """Everything so far."""
    allowed: tuple[int, ...] | None
    """The only ids that may be sampled; None: any."""
    most: int
    """Ids at most."""
    stop: int | None
    """An id behind which nothing follows (it is part of the answer)."""
    seed: int
    """In 0..2**31-1."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was sampled."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Of each id, among those that were allowed."""


class Engine(Protocol):
    """Whatever samples from the policy outside the trainer."""

    def sample(self, asks: Sequence[Ask], temperature: float) -> list[Said]:
        """An answer to each. Raises StageError where there is none that can be trained on."""
        ...

    def push(self, policy: Policy, step: int) -> None:
        """From now on the engine samples from this policy, that of `step` finished iterations. Called in every process."""
        ...


class Vllm:
    """A vLLM server. It reads weights from the run folder, so it runs on this host or shares the folder."""

    def __init__(self, url: str, folder: Path, size: int, timeout: float) -> None:
        """`size`: ids are 0..size-1; `timeout`: seconds of each wait. Raises StageError where no server answers."""
        self.url, self.folder, self.size, self.timeout = url.rstrip("/"), folder, size, timeout
        served = self._field(self._exchange("/v1/models", None), "data")
        self.model = self._field(served[0] if isinstance(served, list) and served else {}, "id")

    def sample(self, asks: Sequence[Ask], temperature: float) -> list[Said]:
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            return [answer.result() for answer in [pool.submit(self._one, ask, temperature) for ask in asks]]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def push(self, policy: Policy, step: int) -> None:
        state = whole(policy.model.state_dict())
        if not team.writes():
            return
        # A new folder each time: a server may have kept what a path held before.
        new = (self.folder / "served" / f"step_{step}").resolve()
        kind = policy.autocast or policy.model.dtype
        try:
            shutil.rmtree(new.parent, ignore_errors=True)
            policy.model.save_pretrained(new, state_dict={name: value.to(kind) for name, value in state.items()})
        except OSError as error:
            raise StageError(f"cannot write weights for the engine: {new}: {error.strerror}") from error
        order = {"method": "reload_weights", "kwargs": {"weights_path": str(new), "is_checkpoint_format": True}}
        self._exchange("/collective_rpc", order)
        self._exchange("/reset_prefix_cache", {})
        shutil.rmtree(new.parent, ignore_errors=True)

    def _one(self, ask: Ask, temperature: float) -> Said:
        body = {
            "model": self.model, "prompt": list(ask.ids), "max_tokens": ask.most, "seed": ask.seed, "temperature": temperature,
            # A server takes these from the model's folder where a request does not say them.
            "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
            "ignore_eos": True, "stop_token_ids": [] if ask.stop is None else [ask.stop],
            "logprobs": 1, "return_token_ids": True, "add_special_tokens": False,
            "skip_special_tokens": False,
        }  # fmt: skip
        if ask.allowed is not None:
            body["allowed_token_ids"] = list(ask.allowed)
        choices = self._field(self._exchange("/v1/completions", body), "choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        ids, logprobs = self._field(choice, "token_ids"), self._field(choice, "logprobs")
        return self._checked(ask, choice.get("prompt_token_ids"), ids, self._field(logprobs, "token_logprobs"))

    def _checked(self, ask: Ask, prompt: Any, ids: Any, logprobs: Any) -> Said:
        fault = ""
        if prompt is not None and prompt != list(ask.ids):
            fault = "it read other ids than it was sent"
        elif not isinstance(ids, list) or not isinstance(logprobs, list) or not 0 < len(ids) == len(logprobs) <= ask.most:
            fault = f"it says {_length(ids)} ids and {_length(logprobs)} log-probabilities, asked for 1 to {ask.most}"
        elif any(type(token) is not int or not 0 <= token < self.size for token in ids):
            fault = f"an id is not in 0..{self.size - 1}"
        elif ask.allowed is not None and not set(ids) <= set(ask.allowed):
            fault = "an id is none of those that were allowed"
        elif not all(isinstance(p, int | float) and math.isfinite(p) and p <= 1e-6 for p in logprobs):
            fault = "a log-probability is none"
        if fault:
            raise self._stop(f"answers nonsense: {fault}")
        return Said(tuple(ids), tuple(min(0.0, float(p)) for p in logprobs))

    def _field(self, answer: Any, name: str) -> Any:
        if not isinstance(answer, dict) or answer.get(name) is None:
            raise self._stop(f"answers nonsense: {name} is missing; is it a vLLM server that knows return_token_ids?")
        return answer[name]

    def _exchange(self, path: str, body: dict[str, Any] | None) -> Any:
        """The JSON that the server answers; None where it answers nothing."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with direct().open(request, timeout=self.timeout) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            how = "; start it with VLLM_SERVER_DEV_MODE=1" if error.code == 404 else ""
            raise self._stop(f"answered {path} with {error.code} ({_first_line(error)}){how}") from error
        except TimeoutError as error:
            raise self._stop(f"gave no answer to {path} within {self.timeout:g} s (--engine-timeout)") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._stop(f"gave no answer to {path} within {self.timeout:g} s (--engine-timeout)") from error
            raise self._stop(f"cannot be reached for {path} ({reason or type(error).__name__})") from error
        except ValueError as error:
            raise self._stop(f"answers nonsense: what it says to {path} is not JSON") from error

    def _stop(self, what: str) -> StageError:
        whole = checkpoint.newest(self.folder)
        again = f"; {whole} is whole: see to the engine and run the same command again" if whole else ""
        return StageError(f"the engine {self.url} {what}{again}")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _first_line(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(2000).decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        text = ""
    return (text.splitlines() or [error.reason])[0][:200]
