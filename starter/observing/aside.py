"""Work aside: threads work on what comes next, or on what is done, while their caller goes on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def aside(work: Callable[[Any], Any], items: Iterable[Any], most: int) -> Iterator[Any]:
    """Yields what `work` returns for each item, in order, while threads work on up to `most` others.

    Items are taken by the caller's thread, which also works if `most` is 0. An error of `work` comes in
    place of its result. What the threads were given they do, whatever stops the caller.
    """
    if not most:
        yield from map(work, items)
        return
    waiting = deque[Future[Any]]()
    with ThreadPoolExecutor(most) as threads:
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        yield from (each.result() for each in waiting)
