"""A local endpoint that speaks the OpenAI protocol of one answer, and says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any], BaseHTTPRequestHandler], None]


def said(text: str) -> Answer:
    def answer(_: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        raw(json.dumps({"choices": [{"message": {"content": text}}]}))(_, handler)

    return answer


def raw(body: str, status: int = 200) -> Answer:
    def answer(_: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.end_headers()
        handler.wfile.write(body.encode())

    return answer


class Stub:
    """An endpoint that answers as it is told, and remembers what it was sent."""

    def __init__(self) -> None:
        self.answer: Answer = said("")
        self.got: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.got.append(body)
                stub.headers.append(dict(self.headers))
                stub.answer(body, self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


def opened() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.server.shutdown()
    server.server.server_close()
