"""A content-addressed cache of arrays: a key is the hash of everything that the arrays depend on."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from submission.files import replacing

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Cache:
    """Arrays kept under ``root/<kind>/<key>.safetensors``, written atomically and never unpickled."""

    root: Path

    def path(self, kind: str, key: str) -> Path:
        """Where the entry `key` of `kind` is kept."""
        return self.root / kind / f"{key}.safetensors"

    def load(self, kind: str, key: str) -> Arrays | None:
        """The entry's arrays, or None where there is none (or a damaged one: it is made again)."""
        path = self.path(kind, key)
        try:
            return dict(load_file(path))
        except (FileNotFoundError, SafetensorError):
            return None

    def store(self, kind: str, key: str, arrays: Arrays) -> None:
        """Write the entry; a reader sees the whole of it or nothing."""
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with replacing(self.path(kind, key)) as temporary:
            try:
                save_file(contiguous, temporary)
            except SafetensorError as error:  # a full disk, mostly
                raise OSError(f"{self.root} cannot be written: {error}") from error


def cache_key(*parts: object) -> str:
    """32 hexadecimal digits that depend on every part (plain JSON values) and their order.

    >>> cache_key("logits", 1) == cache_key("logits", 1) != cache_key("logits", 2)
    True
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
