"""An S3-compatible server on the loopback (moto's) that can be told to misbehave.

    python -m tests.storage.server

It prints its port. ``PUT /_behave`` with a JSON object says how it answers from then on:
``{"fail_every": 50}`` answers every fiftieth request with status 503; ``{"forget": "outcomes"}``
says of the next write to a key with that text in it that it was done, and does not do it;
``{"refuse": "ExpiredToken", "methods": ["PUT"]}`` refuses requests with that code. It counts:
``GET /_counts``; and it knows what it was asked since: ``GET /_asked``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BUCKET = "nights"
_REFUSAL = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    "<Error><Code>{code}</Code><Message>{message}</Message></Error>"
)


class Misbehaving:
    """A WSGI application in front of moto's."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._behaviour: dict[str, Any] = {}
        self._counts = {"requests": 0, "failed": 0, "forgotten": 0, "refused": 0}
        self._asked: list[str] = []

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request."""
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/_behave":
            length = int(environ["CONTENT_LENGTH"])
            self._behaviour = json.loads(environ["wsgi.input"].read(length))
            self._counts = dict.fromkeys(self._counts, 0)
            self._asked = []
            return _answer(start_response, "200 OK", b"")
        if path == "/_counts":
            return _answer(start_response, "200 OK", json.dumps(self._counts).encode())
        if path == "/_asked":
            return _answer(start_response, "200 OK", json.dumps(self._asked).encode())
        self._asked.append(f"{method} {path}")
        fault = self._fault(path, method)
        if fault is None:
            answer: Iterable[bytes] = self._application(environ, start_response)
            return answer
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if not fault:
            return _answer(start_response, "200 OK", b"", [("ETag", '"0"')])
        status = "503 Slow Down" if fault == "SlowDown" else "403 Forbidden"
        content = _REFUSAL.format(code=fault, message="told to").encode()
        return _answer(start_response, status, content, [("Content-Type", "application/xml")])

    def _fault(self, path: str, method: str) -> str | None:
        """Code of the error to answer with; empty: nothing is done; None: all is well."""
        with self._lock:
            self._counts["requests"] += 1
            behaviour = self._behaviour
            every = behaviour.get("fail_every", 0)
            if every and self._counts["requests"] % every == 0:
                self._counts["failed"] += 1
                return "SlowDown"
            # An empty object that stands for a folder is nothing that anybody would miss.
            put = method == "PUT" and not path.endswith("/")
            if put and behaviour.get("forget") and behaviour["forget"] in path:
                self._behaviour = {}
                self._counts["forgotten"] += 1
                return ""
            if behaviour.get("refuse") and method in behaviour.get("methods", [method]):
                self._counts["refused"] += 1
                return str(behaviour["refuse"])
        return None


def _answer(
    start_response: Callable[..., Any],
    status: str,
    content: bytes,
    headers: list[tuple[str, str]] | None = None,
) -> Iterable[bytes]:
    start_response(status, [("Content-Length", str(len(content))), *(headers or [])])
    return [content]


class Server:
    """The server as tests see it."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    @property
    def variables(self) -> dict[str, str]:
        """What a program needs to use it."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def behave(self, **behaviour: Any) -> None:
        """Say how it answers from now on; nothing: well."""
        self._ask("PUT", "/_behave", json.dumps(behaviour).encode())

    def counts(self) -> dict[str, int]:
        """Requests since it was last told how to behave, and what became of them."""
        return dict(json.loads(self._ask("GET", "/_counts")))

    def asked(self) -> list[str]:
        """Method and path of each request since it was last told how to behave."""
        return list(json.loads(self._ask("GET", "/_asked")))

    def make_bucket(self, name: str = BUCKET) -> None:
        """Make an empty bucket."""
        self._ask("PUT", f"/{name}", b"")

    def _ask(self, method: str, path: str, content: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.address + path, content, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            return bytes(answer.read())


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Run a server in a process of its own, with an empty bucket."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.storage.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            server = Server(int(process.stdout.readline()))
            server.make_bucket()
            yield server
        finally:
            process.kill()


def main() -> None:
    """Serve until standard input closes."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = Misbehaving(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
