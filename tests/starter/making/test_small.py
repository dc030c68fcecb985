"""`small` is trained once: the second build takes it from the cache folder, byte for byte."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from starter.images.imageset import ImageSet
from starter.making.build import kept_small

CLASSES = ("a", "b", "c")


@pytest.fixture
def train():
    rng = np.random.default_rng(0)
    return ImageSet("train", rng.integers(0, 256, (64, 16, 16, 3)).astype(np.uint8), np.arange(64) % 3)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "unseen/small"


def test_the_second_build_trains_nothing_and_gets_the_same_network(train, cache, monkeypatch):
    first = kept_small(train, CLASSES, 0)
    monkeypatch.setattr("starter.making.build.train_small", lambda *_: pytest.fail("it was trained again"))
    again = kept_small(train, CLASSES, 0)
    assert not again.training
    for one, other in zip(first.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_other_images_classes_seeds_or_code_are_trained_for(train, cache, tmp_path, monkeypatch):
    for images, classes, seed in (
        (train, CLASSES, 0),
        (train, CLASSES, 1),
        (train, ("a", "b", "d"), 0),
        (replace(train, labels=train.labels[::-1].copy()), CLASSES, 0),
    ):
        kept_small(images, classes, seed)
    (tmp_path / "changed.py").write_text("changed")
    monkeypatch.setattr("starter.classifiers.networks.network.__file__", str(tmp_path / "changed.py"))
    kept_small(train, CLASSES, 0)
    assert len(list(cache.iterdir())) == 5


def test_a_damaged_file_is_made_again_and_a_folder_that_cannot_be_written_is_no_matter(
    train, cache, monkeypatch
):
    kept_small(train, CLASSES, 0)
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    kept_small(train, CLASSES, 0)
    assert path.read_bytes() == whole
    blocked = cache.parent / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert isinstance(kept_small(train, CLASSES, 0), torch.nn.Module)
