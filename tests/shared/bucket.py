"""A real S3 server on loopback with one bucket, and how to reach it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

BUCKET = "unseen"


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The environment variables that lead to the server."""
    server = pytest.importorskip("moto.server", reason="needs the extra bucket")
    s3fs = pytest.importorskip("s3fs", reason="needs the extra cluster")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        found = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1", **keys}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in found.items():
                patch.setenv(name, value)
            s3fs.S3FileSystem.clear_instance_cache()
            with suppress(FileExistsError):  # a server of before in this process left it
                s3fs.S3FileSystem().mkdir(BUCKET)
            yield found
    finally:
        running.stop()
