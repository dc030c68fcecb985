"""The cache: what goes in comes out, in a folder; damaged or foreign entries are as good as none."""

import stat

import numpy as np
import pytest
import torch
from safetensors.torch import save

from starter.observing.cache import Cache, cache_of, place_cache
from submission import UnusableInput

LAYOUT = {"a": (np.float16, (2, 3)), "b": (np.float64, (1,))}


def arrays(**changes):
    return {"a": np.arange(6, dtype=np.float16).reshape(2, 3), "b": np.array([1.5]), **changes}


def test_gives_back_what_was_stored(tmp_path):
    cache = Cache(tmp_path / "cache")
    assert cache.load("logits", "k", LAYOUT) is None
    assert not cache.has("logits", "k")
    cache.store("logits", "k", arrays(a=np.zeros((2, 3), np.float16)))
    cache.store("logits", "k", arrays(a=np.asfortranarray(arrays()["a"])))
    found = cache.load("logits", "k", LAYOUT)
    assert cache.has("logits", "k")
    assert found.keys() == LAYOUT.keys()
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_a_folder_is_made_for_its_owner_alone_and_one_that_is_there_stays_as_it_is(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)
    for folder, mode in ((tmp_path / "new/cache", 0o700), (shared, 0o750)):
        Cache(folder).store("logits", "k", arrays())
        assert stat.S_IMODE(folder.stat().st_mode) == mode


@pytest.mark.parametrize(
    "foreign",
    [
        {"a": arrays()["a"]},
        arrays(c=np.zeros(1)),
        arrays(a=np.zeros((3, 2), np.float16)),
        arrays(a=np.zeros((2, 3), np.float32)),
        arrays(b=np.array([np.nan])),
        arrays(a=np.full((2, 3), np.inf, np.float16)),
    ],
)
def test_an_entry_of_other_names_types_shapes_or_values_counts_as_missing(tmp_path, foreign):
    cache = Cache(tmp_path)
    cache.store("logits", "k", foreign)
    assert cache.load("logits", "k", LAYOUT) is None
    for content in (b"", b"garbage", save({"a": torch.ones(3).to(torch.float8_e4m3fn)})):
        cache.write("logits/k.safetensors", content)
        assert cache.load("logits", "k", LAYOUT) is None


def test_an_entry_with_any_flipped_bit_counts_as_missing_and_so_does_one_of_another_key(tmp_path):
    """A bit may be without meaning, as that of a space in the header: then the entry is as it was."""
    cache, name = Cache(tmp_path), "logits/k.safetensors"
    cache.store("logits", "k", arrays())
    data = (tmp_path / name).read_bytes()
    for place in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        cache.write(name, bytes(flipped))
        if found := cache.load("logits", "k", LAYOUT):
            assert all((found[each] == array).all() for each, array in arrays().items())
        assert not found or place // 8 < int.from_bytes(data[:8], "little") + 8
    cache.write("logits/other.safetensors", data)
    assert cache.load("logits", "other", LAYOUT) is None
    cache.write("logits/old.safetensors", save({"a": torch.zeros(2, 3).half(), "b": torch.zeros(1).double()}))
    assert cache.load("logits", "old", LAYOUT) is None, "it holds no SHA-256"


def test_a_place_that_is_asked_for_is_noted_and_used_from_then_on(tmp_path, capsys):
    root = tmp_path / "contest"
    assert cache_of(root) == Cache(root / "cache")
    place_cache(root, str(tmp_path / "elsewhere"))
    assert cache_of(root) == Cache(tmp_path / "elsewhere")
    assert f"the cache is at {tmp_path / 'elsewhere'}" in capsys.readouterr().err
    assert cache_of(root.rename(tmp_path / "moved")) == Cache(tmp_path / "elsewhere")


@pytest.mark.parametrize("place", ["file/x", "s3://bucket/x"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableInput, match=f"cache {place} cannot be used"):
        place_cache(tmp_path / "contest", place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
