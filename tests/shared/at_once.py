"""What a process of its own does at the same time as the test."""

from collections.abc import Callable
from multiprocessing.synchronize import Barrier


def at_once(barrier: Barrier, function: Callable[..., object], *arguments: object) -> None:
    """Call the function, imported by now, when the test is there too."""
    barrier.wait(120)
    function(*arguments)
