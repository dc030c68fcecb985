"""Downloads: a good file once, anything else named and leaving nothing."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from starter.data.sources.download import OFFICIAL, fetch
from submission.errors import UnusableInput

WEIGHTS = bytes(range(256)) * 2048
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


class Handler(BaseHTTPRequestHandler):
    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(self.path)
        if self.path == "/gone.pt":
            self.send_error(404)
            return
        body = b"<!doctype html><title>Sign in</title>" if self.path == "/page.pt" else WEIGHTS
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut.pt" else body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    Handler.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_good_file_is_downloaded_once(server: str, tmp_path: Path) -> None:
    good = f"{server}/good.pt", SHA256, tmp_path / "new"
    path = fetch(*good)
    assert path == tmp_path / "new" / "good.pt"
    assert path.read_bytes() == WEIGHTS
    assert fetch(*good) == path
    assert Handler.requests == ["/good.pt"]
    path.write_bytes(b"damaged")
    assert fetch(*good).read_bytes() == WEIGHTS
    assert Handler.requests == ["/good.pt"] * 2


@pytest.mark.parametrize("name", ["gone.pt", "page.pt", "cut.pt", "no network"])
def test_anything_else_leaves_no_file(server: str, tmp_path: Path, name: str) -> None:
    url = "http://127.0.0.1:9/none.pt" if name == "no network" else f"{server}/{name}"
    with pytest.raises(UnusableInput, match=rf"cannot download {url} .*pass NAME=PATH"):
        fetch(url, SHA256[:8], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_published_names_carry_the_start_of_their_hash() -> None:
    for url, digest in OFFICIAL.values():
        assert url.endswith(f"-{digest[:8]}.pt")
