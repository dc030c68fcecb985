"""`small` is trained once: the second build takes it from the cache folder, byte for byte."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest
import torch
from at_once import at_once

from starter.classifiers import Classifier, save_classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD
from starter.images.imageset import ImageSet
from starter.making.small import kept_small

CLASSES = ("a", "b", "c")


@pytest.fixture
def train():
    rng = np.random.default_rng(0)
    return ImageSet("train", rng.integers(0, 256, (64, 16, 16, 3)).astype(np.uint8), np.arange(64) % 3)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "unseen/small"


def saved(network, path):
    save_classifier(Classifier("small", "small", network, CLASSES, SMALL_MEAN, SMALL_STD), path)
    return path.read_bytes()


def never(*_, **__):
    pytest.fail("it was trained again")


def test_the_second_build_trains_nothing_and_gets_the_same_bytes(train, cache, tmp_path, monkeypatch):
    first = saved(kept_small(train, CLASSES, 0), tmp_path / "first")
    (path,) = cache.iterdir()
    assert path.read_bytes() == first
    monkeypatch.setattr("starter.making.small.train_small", never)
    again = kept_small(train, CLASSES, 0)
    assert saved(again, tmp_path / "again") == first
    assert not again.training


def test_other_images_classes_or_seeds_are_trained_for(train, cache):
    kept_small(train, CLASSES, 0)
    kept_small(train, CLASSES, 1)
    kept_small(train, ("a", "b", "d"), 0)
    kept_small(replace(train, labels=train.labels[::-1].copy()), CLASSES, 0)
    assert len(list(cache.iterdir())) == 4


@pytest.mark.parametrize("module", ["network", "small"])
def test_other_code_of_the_network_is_trained_for(train, cache, tmp_path, monkeypatch, module):
    kept_small(train, CLASSES, 0)
    (tmp_path / "changed.py").write_text("changed")
    monkeypatch.setattr(f"starter.classifiers.networks.{module}.__file__", str(tmp_path / "changed.py"))
    kept_small(train, CLASSES, 0)
    assert len(list(cache.iterdir())) == 2


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


@pytest.mark.slow
def test_two_builds_at_a_time_leave_one_whole_file(train, cache):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    other = context.Process(target=at_once, args=(barrier, kept_small, train, CLASSES, 0))
    other.start()
    at_once(barrier, kept_small, train, CLASSES, 0)
    other.join()
    assert other.exitcode == 0
    (path,) = cache.iterdir()
    before = path.stat().st_mtime_ns
    kept_small(train, CLASSES, 0)
    assert path.stat().st_mtime_ns == before
