"""What is compiled runs where nothing can be kept."""

from collections.abc import Callable
from typing import Any

import pytest
from numba import njit

from starter.data.images.kernel import kernel


def half(x: float) -> float:
    return x / 2


def test_a_function_is_compiled_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(nogil: bool, cache: bool = False) -> Callable[..., Any]:
        if cache:
            raise RuntimeError("cannot cache function 'half': no locator available")
        return njit(nogil=nogil)

    monkeypatch.setattr("starter.data.images.kernel.njit", refusing)
    assert kernel(half)(3.0) == 1.5
