"""A small server that speaks what the trainer uses of vLLM's HTTP protocol, on top of a real model on the CPU.

Requests and answers have the fields of vLLM's `/v1/models`, `/v1/completions`, `/collective_rpc` and `/reset_prefix_cache`.
What it is told to do wrong, it does (`wrong`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoModelForCausalLM

Wrong = Literal["", "hang", "500", "dies", "ids", "ragged", "other model", "no json", "raw", "no weights"]


@dataclass
class State:
    """One server."""

    model: Any
    url: str = ""
    wrong: Wrong = ""
    after: int = 0
    """Completions before `wrong` begins."""
    completions: int = 0
    loaded: list[str] = field(default_factory=list)
    """Folders of weights that it was given."""
    resets: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    @torch.no_grad()
    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Samples as vLLM does: logits of all that was read, temperature, allowed ids; processed log-probabilities."""
        ids, said, logprobs = list(body["prompt"]), list[int](), list[float]()
        generator = torch.Generator().manual_seed(body["seed"])
        stops = set(body["stop_token_ids"])
        while len(said) < body["max_tokens"]:
            logits = self.model(input_ids=torch.tensor([ids + said])).logits[0, -1].float() / body["temperature"]
            raw = torch.log_softmax(logits, -1)
            if (allowed := body.get("allowed_token_ids")) is not None:
                keep = torch.full_like(logits, float("-inf"))
                keep[allowed] = 0.0
                logits = logits + keep
            processed = torch.log_softmax(logits, -1)
            token = int(torch.multinomial(processed.exp(), 1, generator=generator))
            said.append(token)
            logprobs.append(float((raw if self.wrong == "raw" else processed)[token]))
            if token in stops:
                break
        if self.wrong == "ids":
            said[-1] = 10_000_000
        if self.wrong == "ragged":
            logprobs.append(-0.5)
        names = [f"token_id:{token}" for token in said]
        choice = {
            "index": 0, "text": "", "token_ids": said, "prompt_token_ids": ids,
            "finish_reason": "stop" if said[-1] in stops else "length", "stop_reason": None, "prompt_logprobs": None,
            "logprobs": {"tokens": names, "token_logprobs": logprobs, "top_logprobs": [], "text_offset": []},
        }  # fmt: skip
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(said), "total_tokens": len(ids) + len(said)}
        return {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": "served", "choices": [choice], "usage": usage}

    def rpc(self, body: dict[str, Any]) -> dict[str, Any]:
        """`reload_weights` reads a folder as vLLM's worker does."""
        assert body["method"] == "reload_weights"
        assert body["kwargs"]["is_checkpoint_format"] is True
        path = body["kwargs"]["weights_path"]
        assert path not in self.loaded, "vLLM may keep what a path held before"
        if self.wrong != "other model":
            self.model.load_state_dict(AutoModelForCausalLM.from_pretrained(path, local_files_only=True).state_dict())
        self.loaded.append(path)
        return {"results": [None]}


class Handler(BaseHTTPRequestHandler):
    state: State

    def log_message(self, *args: object) -> None: ...

    def answer(self, code: int, body: dict[str, Any] | None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        assert self.path == "/v1/models"
        self.answer(200, {"object": "list", "data": [{"id": "served", "object": "model", "max_model_len": 8192}]})

    def do_POST(self) -> None:
        state, body = self.state, json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if self.path == "/reset_prefix_cache":
            state.resets += 1
            return self.answer(200, None)
        with state.lock:
            if self.path == "/collective_rpc":
                if state.wrong == "no weights":
                    return self.answer(404, {"detail": "Not Found"})
                return self.answer(200, state.rpc(body))
            assert self.path == "/v1/completions"
            state.completions += 1
            wrong = state.wrong if state.completions > state.after else ""
            if wrong not in ("hang", "500", "dies", "no json"):
                return self.answer(200, state.complete(body))
        if wrong == "hang":
            state.over.wait(60)
        elif wrong == "500":
            self.answer(500, {"object": "error", "message": "EngineDeadError: the engine core died", "code": 500})
        elif wrong == "no json":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")
        else:
            self.connection.close()


@contextmanager
def serving(model: Path) -> Iterator[State]:
    """A server of the model in this folder."""
    state = State(AutoModelForCausalLM.from_pretrained(model, local_files_only=True).eval())
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"state": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
