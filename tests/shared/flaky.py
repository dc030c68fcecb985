"""A file system of fsspec that fails one request in ten, on real files, and a task that fails on one worker."""

import time
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem


class Flaky(LocalFileSystem):  # type: ignore[misc]
    """Local files at ``flaky:///folder``; every tenth request is refused before anything is done."""

    protocol: ClassVar[str] = "flaky"
    requests: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(auto_mkdir=True, **options)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix("flaky://"))  # type: ignore[no-any-return]

    def unstrip_protocol(self, name: str) -> str:
        return f"flaky://{self._strip_protocol(name)}"

    def _request(self) -> None:
        Flaky.requests += 1
        if Flaky.requests % 10 == 0:
            raise ConnectionError("503 Slow Down")

    def info(self, path: str, **options: Any) -> Any:
        self._request()
        return super().info(path, **options)

    def cat_file(self, path: str, *rest: Any, **options: Any) -> Any:
        self._request()
        return super().cat_file(path, *rest, **options)

    def pipe_file(self, path: str, *rest: Any, **options: Any) -> Any:
        self._request()
        return super().pipe_file(path, *rest, **options)


def register() -> None:
    """Have this process know ``flaky://``."""
    fsspec.register_implementation("flaky", Flaky, clobber=True)


def refused_by(work: object, worker: str, number: int) -> int:
    """Returns the number, on the other workers after a while."""
    from distributed import get_worker

    if get_worker().address == worker:
        raise OSError("No space left on device")
    time.sleep(0.2)
    return number
