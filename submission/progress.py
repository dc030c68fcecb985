"""Progress of long work: a bar on a terminal, and four lines a minute where the output is kept."""

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

PATIENCE = 5
"""Seconds after which a bar appears."""
PAUSE = 15
"""Seconds between two lines."""
LINE = "{desc}: {n_fmt} of {total_fmt} {unit}, {elapsed} gone, {remaining} left"


class Lines(tqdm):
    """A bar that is printed as a new line each time."""

    @staticmethod
    def status_printer(file: Any) -> Any:
        """Returns the function that prints a state."""
        return lambda state: print(state, file=file, flush=True) if state else None


def progress(
    items: Iterable[Any] | None = None, title: str = "", total: int | None = None, unit: str = "it"
) -> "tqdm[Any]":
    """Returns the items, counted while they are used; without items, a counter of `total` to `update`."""
    if sys.stderr.isatty():
        return tqdm(items, title, total, unit=unit, delay=PATIENCE)
    often = {"mininterval": PAUSE, "miniters": 1, "delay": PATIENCE}
    return Lines(items, title, total, unit=unit, bar_format=LINE, leave=False, **often)
