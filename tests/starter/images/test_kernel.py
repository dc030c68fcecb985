"""What is compiled runs where nothing can be kept."""

import pytest

from starter.images.kernel import kernel


def half(x: float) -> float:
    return x / 2


def test_a_function_is_compiled_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.FunctionCache._impl_class._locator_classes", [])
    assert kernel(half)(3.0) == 1.5
