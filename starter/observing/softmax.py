"""Softmax and log-sum-exp in double precision, by PyTorch: several times as fast as SciPy's.

PyTorch is imported when it is first used, as listing the methods does not need it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from submission.arrays import FloatArray

BLOCK = 1 << 18
"""Number of logits that are read at a time: as many as a processor's cache holds in double precision."""


def softmax(logits: FloatArray) -> FloatArray:
    """Returns the softmax of each row of logits (n, k), float64 (n, k)."""
    import torch

    found: FloatArray = torch.softmax(torch.as_tensor(logits, dtype=torch.float64), dim=1).numpy()
    return found


def logsumexp(logits: FloatArray, scale: float = 1.0) -> FloatArray:
    """Returns log sum_c exp(scale f_c) of each row of logits (n, k), float64 (n,)."""
    import torch

    return joined(torch.logsumexp(block * scale, dim=1) for block in blocks(logits))


def blocks(logits: FloatArray) -> Iterator[Any]:
    """Yields tensors of rows in double precision, one after the other, each of about `BLOCK` logits."""
    import torch

    for rows in torch.as_tensor(logits).split(max(BLOCK // logits.shape[1], 1)):
        yield rows.to(torch.float64)


def joined(values: Iterator[Any]) -> FloatArray:
    """Returns the values of blocks of rows, one tensor each, in one array (n,)."""
    return np.concatenate([each.numpy() for each in values])
