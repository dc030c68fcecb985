"""Numbers in the forms in which users have them: arrays, tensors of PyTorch, tables of pandas, .npy files."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from starter.images.arrays import read_npy
from submission.errors import UnusableInput, why

TEXT = (".csv", ".tsv", ".txt")
Array = ArrayLike | Path
"""Numbers (an array, a tensor of PyTorch, a table of pandas, lists), or an .npy file of them."""


def read_array(given: Array, what: str) -> tuple[str, NDArray[Any]]:
    """Returns the name for the numbers in messages, and the numbers.

    Args:
        given: Numbers, or an .npy file.
        what: Name for the numbers; a file is named by its path.
    """
    if isinstance(given, Path | str):
        path = Path(given)
        if path.is_dir():
            raise UnusableInput(
                f"{path} is a folder: use `unseen estimate --model NAME=WEIGHTS --labelled DIR "
                "--unlabelled DIR`"
            )
        if path.suffix in TEXT and path.is_file():
            raise UnusableInput(f"{path} is no .npy: read its numbers and save them with numpy.save")
        return str(path), read_npy(path)
    if hasattr(given, "detach"):  # PyTorch's: of any device and precision, with or without gradient
        given = given.detach().cpu().double()
    try:
        values = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UnusableInput(
            f"{what}: no numbers that make one array ({why(error)}): join batches by numpy.concatenate or "
            "torch.cat"
        ) from error
    if values.dtype == object:
        with suppress(TypeError, ValueError):  # of texts, and of missing numbers
            values = values.astype(np.float64)
    return what, values


def check_finite(name: str, values: NDArray[Any]) -> None:
    """Raise UnusableInput if values (n, d), called `name`, are not finite numbers within float32's range."""
    with np.errstate(over="ignore"):
        finite = np.isfinite(values.astype(np.float32, copy=False))
    if not finite.all():
        row = int((~finite).any(axis=1).argmax())
        raise UnusableInput(
            f"{name} holds NaN, infinite or too large values (above 3e38), first in row {row}: leave such "
            "images out"
        )


def check_order(labels: Array, logits: Array) -> None:
    """Raise UnusableInput if two tables of pandas name the same rows in another order."""
    if isinstance(labels, pd.Series | pd.DataFrame) and isinstance(logits, pd.DataFrame):
        one, other = labels.index, logits.index
        if not one.equals(other) and one.is_unique and set(one) == set(other):
            raise UnusableInput(
                "the indexes of labels and logits name the same rows in another order: give labels as "
                "labels.loc[logits.index], or, if they are already row by row, as labels.to_numpy()"
            )
