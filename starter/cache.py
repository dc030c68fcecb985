"""A content-addressed cache of arrays: a key is the hash of everything that the arrays depend on."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from submission.files import replacing

Arrays = dict[str, NDArray[Any]]
Layout = Mapping[str, tuple[type[np.generic], tuple[int, ...]]]
"""The arrays that an entry must hold: name -> (type, shape)."""


@dataclass(frozen=True)
class Cache:
    """Arrays kept under ``root/<kind>/<key>.safetensors``, written atomically and never unpickled."""

    root: Path

    def path(self, kind: str, key: str) -> Path:
        """Where the entry `key` of `kind` is kept."""
        return self.root / kind / f"{key}.safetensors"

    def load(self, kind: str, key: str, layout: Layout) -> Arrays | None:
        """The entry's arrays, or None where there is no entry of that layout with finite values alone.

        A damaged or foreign file counts as none: whoever asks makes the entry again.
        """
        try:
            arrays = load_file(self.path(kind, key))
        except (FileNotFoundError, SafetensorError):
            return None
        except (KeyError, TypeError, AttributeError):  # a type of number that NumPy does not have
            return None
        return dict(arrays) if fits(arrays, layout) else None

    def store(self, kind: str, key: str, arrays: Arrays) -> None:
        """Write the entry; a reader sees the whole of it or nothing."""
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with replacing(self.path(kind, key)) as temporary:
            try:
                save_file(contiguous, temporary)
            except SafetensorError as error:  # a full disk, mostly
                raise OSError(f"{self.root} cannot be written: {error}") from error


def fits(arrays: Arrays, layout: Layout) -> bool:
    """Whether these are the arrays of `layout`, by name, type and shape, with finite values alone."""
    found = {name: (array.dtype.type, array.shape) for name, array in arrays.items()}
    return found == layout and all(np.isfinite(array).all() for array in arrays.values())


def cache_key(*parts: object) -> str:
    """32 hexadecimal digits that depend on every part (plain JSON values) and their order.

    >>> cache_key("logits", 1) == cache_key("logits", 1) != cache_key("logits", 2)
    True
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
