import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from starter.data.images.imageset import ImageSet
from starter.data.sources.splits import split

PARTS = ("reference", "meta_base", "val_base", "test_base")


def numbered(counts):
    """Images of `counts[i]` of class i, each holding its own number, in class order."""
    n = sum(counts)
    images = np.zeros((n, 2, 2, 3), np.uint8)
    images.reshape(n, -1)[:, :4] = np.arange(n, dtype=np.uint32).view(np.uint8).reshape(n, 4)
    return ImageSet("made", images, np.repeat(np.arange(len(counts)), counts).astype(np.int64))


def numbers(images):
    return np.ascontiguousarray(images.images.reshape(len(images), -1)[:, :4]).view(np.uint32)[:, 0]


def classes(k):
    return tuple(f"class {i}" for i in range(k))


@given(st.lists(st.integers(10, 80), min_size=2, max_size=5), st.integers(0, 2**64))
def test_parts_are_disjoint_complete_and_stratified(counts, seed):
    test = numbered(counts)
    splits = split(classes(len(counts)), numbered([1] * len(counts)), test, seed)
    parts = [getattr(splits, part) for part in PARTS]
    assert sorted(np.concatenate([numbers(part) for part in parts])) == list(range(len(test)))
    for part, share in zip(parts, (0.2, 0.4, 0.1, 0.3), strict=True):
        np.testing.assert_array_equal(part.labels, test.labels[numbers(part)])
        assert (abs(np.bincount(part.labels, minlength=len(counts)) - share * np.array(counts)) <= 1).all()


def test_seed_decides_and_no_part_is_ordered_by_class():
    made = [split(classes(3), numbered([1] * 3), numbered([100] * 3), seed) for seed in (1, 1, 2)]
    assert [len(getattr(made[0], part)) for part in PARTS] == [60, 120, 30, 90]
    for part in PARTS:
        same, again, other = (numbers(getattr(splits, part)) for splits in made)
        np.testing.assert_array_equal(same, again)
        assert set(same) != set(other)
        assert (np.diff(getattr(made[0], part).labels) < 0).any()


def test_datacv_has_every_test_image_in_every_part_but_train():
    splits = split(classes(2), numbered([3, 3]), numbered([20, 30]), seed=1)
    datacv = splits.as_in_datacv()
    for part in PARTS:
        whole = getattr(datacv, part)
        assert whole.name == part
        assert sorted(numbers(whole)) == list(range(50))
        assert np.bincount(whole.labels).tolist() == [20, 30]
        assert (np.diff(whole.labels) < 0).any()
    assert datacv.train is splits.train
