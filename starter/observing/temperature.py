"""Temperature scaling (Guo et al., ICML 2017), softmax and log-sum-exp, by PyTorch: faster than by SciPy."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar

from starter.observing.observation import Observation, Source, once
from submission.arrays import FloatArray, IntArray

Value = TypeVar("Value")
LOG_RANGE = (-10.0, 10.0)
"""Bounds of log T; the optimum for a classifier without errors is T = 0, below any bound."""
BLOCK = 1 << 18
"""Number of logits that are read at a time: as many as a processor's cache holds in double precision."""


@once
def temperature(source: Source) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood on the labelled source."""
    return likeliest_temperature(source.observation.logits, source.labels)


def likeliest_temperature(logits: FloatArray, labels: IntArray) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood of softmax(f / T).

    It is of logits (n, k) with class indices (n,), convex in 1/T; the search is over log T in [-10, 10].
    """
    truth = logits[np.arange(len(logits)), labels].astype(np.float64)

    def negative_log_likelihood(log_t: float) -> float:
        scale = np.exp(-log_t)
        return float((logsumexp(logits, scale) - truth * scale).mean())

    found = minimize_scalar(negative_log_likelihood, bounds=LOG_RANGE, method="bounded")
    return float(np.exp(found.x))


def scaled_probabilities(observation: Observation, temperature: float) -> FloatArray:
    """Returns softmax(f / T) of each image, float64 (n, k)."""
    return softmax(observation.logits.astype(np.float64) / temperature)


def softmax(logits: FloatArray) -> FloatArray:
    """Returns the softmax of each row of logits (n, k), float64 (n, k)."""
    import torch

    found: FloatArray = torch.softmax(torch.as_tensor(logits, dtype=torch.float64), dim=1).numpy()
    return found


def logsumexp(logits: FloatArray, scale: float = 1.0) -> FloatArray:
    """Returns log sum_c exp(scale f_c) of each row of logits (n, k), float64 (n,)."""
    import torch

    return joined(over_blocks(lambda rows, first: torch.logsumexp(rows * scale, dim=1), logits))


def over_blocks(read: Callable[[Any, int], Value], logits: FloatArray) -> list[Value]:
    """Returns what `read` makes of each block of rows in double precision and its first row's number.

    A block has about `BLOCK` logits and one thread: on so few numbers, several mostly wait for each other.
    Blocks are read side by side; their order, and so the last bits of a sum, is always the same.
    """
    import torch

    every = torch.as_tensor(logits)
    size = max(BLOCK // logits.shape[1], 1)
    firsts = range(0, max(len(logits), 1), size)

    def of_block(first: int) -> Value:
        return read(every[first : first + size].to(torch.float64), first)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if threads == 1 or len(firsts) == 1:
            return [of_block(first) for first in firsts]
        with ThreadPoolExecutor(max_workers=threads) as workers:
            return list(workers.map(of_block, firsts))
    finally:
        torch.set_num_threads(threads)


def joined(values: Iterable[Any]) -> FloatArray:
    """Returns the values of blocks of rows, one tensor (n, ...) each, in one array."""
    return np.concatenate([each.numpy() for each in values])
