"""Mixes: how many images of either kind, which ones, and OOD families that stay whole."""

import numpy as np
import pytest

from starter.images.imageset import ImageSet
from starter.sets.mix import FromPools, Mix
from submission import UnusableInput


def numbered(name, start, n):
    """Images whose first pixel tells their number."""
    images = np.zeros((n, 8, 8, 3), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = np.arange(n) % 256, np.arange(n) // 256
    images[:, 0, 0, 2] = start
    return ImageSet(name, images)


MIX = Mix("mix_0001", 7, "letters", 30, 50)


@pytest.mark.parametrize(
    "line",
    [
        *("", "{}", "null", "[" * 5000),
        *(
            MIX.to_json().replace(*change)
            for change in (("30", "19"), ("7}", "-1}"), ("letters", "../x"), ("50", "true"))
        ),
    ],
)
def test_a_mix_is_a_line_of_json_and_others_are_refused(line):
    assert Mix.from_json(MIX.to_json()) == MIX
    with pytest.raises(UnusableInput, match="not a mix"):
        Mix.from_json(line)


def test_images_are_drawn_without_replacement_and_shuffled():
    mix = FromPools(MIX, numbered("ind", 0, 300), numbered("letters", 9, 60))
    images, is_ood = mix.render(), mix.is_ood()
    assert len(images) == len(mix) == 80
    assert is_ood.sum() == 50
    np.testing.assert_array_equal(images[:, 0, 0, 2] == 9, is_ood)
    assert len({image.tobytes() for image in images}) == 80
    assert np.abs(np.diff(is_ood.astype(int))).sum() > 10  # in no order of origin
    np.testing.assert_array_equal(
        np.concatenate([c.numpy() for c in mix.chunks()]), images.transpose(0, 3, 1, 2)
    )
    assert (mix.labelled().labels == is_ood).all()
    assert "30 IND, 50 letters" in mix.made_of


def test_the_digest_tells_mixes_apart():
    pools = numbered("ind", 0, 300), numbered("letters", 9, 60)
    mixes = [MIX, Mix("other_name", 7, "letters", 30, 50), Mix("m", 8, "letters", 30, 50)]
    digests = [FromPools(mix, *pools).digest for mix in mixes]
    assert digests[0] == digests[1] != digests[2]
    assert FromPools(MIX, pools[0], numbered("letters", 8, 60)).digest != digests[0]


def test_a_pool_that_is_too_small_is_named():
    with pytest.raises(UnusableInput, match="50 OOD images without replacement, there are 49"):
        MIX.rows(300, 49)
