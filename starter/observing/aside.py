"""Work aside: a thread works on what comes next, or on what is done, while its caller goes on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def aside(work: Callable[[Any], Any], items: Iterable[Any], most: int) -> Iterator[Any]:
    """Yields what `work` returns for each item, in order, from a thread with up to `most` others meanwhile.

    Items are taken by the caller's thread, which also works if `most` is 0. An error of `work` comes in
    place of its result. What the thread was given it does, whatever stops the caller.
    """
    if not most:
        yield from map(work, items)
        return
    waiting = deque[Future[Any]]()
    with ThreadPoolExecutor(1) as thread:
        for item in items:
            waiting.append(thread.submit(work, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        yield from (each.result() for each in waiting)
