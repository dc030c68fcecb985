"""The cache: what goes in comes out, damaged entries are as good as none."""

import numpy as np
import pytest

from starter.cache import Cache, cache_key


def test_gives_back_what_was_stored(tmp_path):
    cache = Cache(tmp_path)
    arrays = {"a": np.arange(6, dtype=np.float16).reshape(2, 3), "b": np.array([1.5])}
    assert cache.load("logits", "k") is None
    cache.store("logits", "k", arrays)
    found = cache.load("logits", "k")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_stores_views_that_are_not_contiguous(tmp_path):
    array = np.arange(12.0).reshape(3, 4).T
    Cache(tmp_path).store("x", "k", {"a": array})
    np.testing.assert_array_equal(Cache(tmp_path).load("x", "k")["a"], array)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 100])
def test_a_damaged_entry_counts_as_missing(tmp_path, content):
    cache = Cache(tmp_path)
    cache.store("logits", "k", {"a": np.zeros(3)})
    cache.path("logits", "k").write_bytes(content)
    assert cache.load("logits", "k") is None


def test_a_failed_write_leaves_the_old_entry_and_no_litter(tmp_path):
    cache = Cache(tmp_path)
    cache.store("logits", "k", {"a": np.ones(2)})
    with pytest.raises(Exception, match="object"):
        cache.store("logits", "k", {"a": np.array([object()])})
    np.testing.assert_array_equal(cache.load("logits", "k")["a"], np.ones(2))
    assert [path.name for path in (tmp_path / "logits").iterdir()] == ["k.safetensors"]


def test_keys_depend_on_every_part_and_their_order():
    keys = {cache_key(*parts) for parts in [("a", "b"), ("b", "a"), ("ab",), ("a", None), ("a", "b", 1)]}
    assert len(keys) == 5
