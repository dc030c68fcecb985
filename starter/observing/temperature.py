"""Temperature scaling (Guo et al., ICML 2017), softmax and log-sum-exp, by PyTorch: faster than by SciPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from starter.observing.observation import Source, once
from submission.arrays import FloatArray, IntArray

LOG_RANGE = (-10.0, 10.0)
"""Bounds of log T; the optimum for a classifier without errors is T = 0, below any bound."""
BLOCK = 1 << 16
"""Number of logits that are read at a time: as many as a processor's cache holds in double precision."""
LOWEST = float(np.finfo(np.float64).min)


@once
def temperature(source: Source) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood on the labelled source."""
    return likeliest_temperature(source.observation.logits, source.labels)


def likeliest_temperature(logits: FloatArray, labels: IntArray) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood of softmax(f / T), f (n, k)."""
    truth = logits[np.arange(len(logits)), labels].astype(np.float64)

    def negative_log_likelihood(log_t: float) -> float:
        scale = np.exp(-log_t)
        return float((logsumexp(logits, scale) - truth * scale).mean())

    found = minimize_scalar(negative_log_likelihood, bounds=LOG_RANGE, method="bounded")
    return float(np.exp(found.x))


def softmax(logits: FloatArray, scale: float = 1.0, biases: FloatArray | None = None) -> FloatArray:
    """Returns the softmax of each row of scale f + b, with logits f (n, k) and biases b (k,), (n, k)."""
    import torch

    found = np.empty(logits.shape)
    added = torch.from_numpy(np.zeros(logits.shape[1]) if biases is None else biases)
    first = 0
    for block in blocks(logits):
        part = torch.from_numpy(found[first : first + len(block)])
        torch.softmax(torch.add(added, block, alpha=scale, out=part), dim=1, out=part)
        first += len(block)
    return found


def logsumexp(logits: FloatArray, scale: float = 1.0) -> FloatArray:
    """Returns log sum_c exp(scale f_c) of each row of logits (n, k), float64 (n,)."""
    return joined(logsumexp_of(block.mul_(scale)) for block in blocks(logits))


def logsumexp_of(rows: Any) -> Any:
    """Returns log sum exp of each row of a tensor (n, k), which it overwrites."""
    most = rows.amax(dim=1).clamp_(min=LOWEST)  # of a row of -inf the result is -inf
    return rows.sub_(most[:, None]).exp_().sum(dim=1).log_().add_(most)


def blocks(logits: FloatArray, precision: type[np.floating[Any]] = np.float64) -> Iterator[Any]:
    """Yields rows in this precision, about `BLOCK` logits at a time, in one tensor, to overwrite."""
    import torch

    size = max(BLOCK // logits.shape[1], 1)
    # New memory for every block takes longer than to compute with it.
    memory = torch.from_numpy(np.empty((min(size, len(logits)), logits.shape[1]), precision))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on so few numbers, several mostly wait for each other
    try:
        for rows in torch.as_tensor(logits).split(size):
            yield memory[: len(rows)].copy_(rows)
    finally:
        torch.set_num_threads(threads)


def joined(values: Iterator[Any]) -> FloatArray:
    """Returns the values of blocks of rows, one tensor (n, ...) each, in one array."""
    return np.concatenate([each.numpy() for each in values])
