"""What tests and examples share: the plugin `built` of tests/shared makes the competition that they use."""

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

pytest_plugins = ["built"]

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that have to be free there: many times what a run takes."""


def _has_room(folder: Path) -> bool:
    """Whether tests can write, and run, what they need in a folder."""
    return (
        folder.is_dir()
        and os.access(folder, os.W_OK)
        and not os.statvfs(folder).f_flag & os.ST_NOEXEC
        and shutil.disk_usage(folder).free >= ROOM
    )


def pytest_configure() -> None:
    """Let temporary files lie in memory, where there is room.

    A file is synced with every row of a ledger, and on a disk tests wait longer than they compute.
    """
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # asked for before


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage from what is imported and collected.

    All of that stays until the end, and to look at its million objects takes half a second each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)
