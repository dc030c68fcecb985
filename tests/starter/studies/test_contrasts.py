"""Images that two detectors rank differently, and ranks from nearer, by loops over small numbers."""

import numpy as np
import pytest

from starter.data.images.imageset import ImageSet
from starter.studies.contrasts import SHOWN, contrast_table, nearer, zoom_table
from starter.studies.failure import Scored

RNG = np.random.default_rng(0)
RIGHT, RIGHT_NEAR = RNG.random(60) < 0.6, RNG.random(20) < 0.7
ROWS = np.sort(RNG.permutation(60)[:20])


def scored():
    """Random scores of 60 clean images, of 20 of them from nearer, and of two kinds of OOD images."""
    ind = {"clean": (RNG.normal(size=60), RIGHT), "nearer": (RNG.normal(size=20), RIGHT_NEAR)}
    return Scored(ind, {"near": RNG.normal(size=30).round(1), "far": RNG.normal(size=30).round(1)})


DETECTORS = {"msp": scored(), "vim": scored(), "knn": scored()}


def rank(name, kind, image):
    """The share of OOD images farther out, ties half, one by one."""
    own, ood = DETECTORS[name].kinds[kind][image], np.concatenate([*DETECTORS[name].ood.values()])
    return np.mean([(each > own) + (each == own) / 2 for each in ood])


@pytest.mark.parametrize(("name", "kind"), [("vim", "clean"), ("knn", "far")])
def test_contrasts_are_the_images_that_a_detector_ranks_lowest_compared_with_the_first(name, kind):
    found = contrast_table(DETECTORS)
    own = found[(found.detector == name) & (found.kind == kind)]
    count = len(DETECTORS[name].kinds[kind])
    below = {image: rank("msp", kind, image) - rank(name, kind, image) for image in range(count)}
    assert [below[image] for image in own.image] == pytest.approx(sorted(below.values())[: -SHOWN - 1 : -1])
    assert (own.rank_by_first - own["rank"]).tolist() == pytest.approx([below[image] for image in own.image])


def test_a_zoom_counts_images_that_are_right_twice_and_shows_the_largest_fall():
    found = zoom_table(DETECTORS, ROWS).set_index("detector")
    both = [place for place in range(20) if RIGHT_NEAR[place] and RIGHT[ROWS[place]]]
    assert set(found.images) == {len(both)}
    below = {
        name: {i: rank(name, "clean", ROWS[i]) - rank(name, "nearer", i) for i in both} for name in DETECTORS
    }
    most = max(both, key=lambda place: below["vim"][place] + below["knn"][place] - 2 * below["msp"][place])
    assert set(found.image) == {most}
    for name in DETECTORS:
        assert found.image_rank[name] - found.image_rank_near[name] == pytest.approx(below[name][most])
        assert found["rank"][name] == pytest.approx(np.mean([rank(name, "clean", ROWS[i]) for i in both]))
    assert len(zoom_table(DETECTORS, np.flatnonzero(~RIGHT)[:20])) == 0


def test_nearer_is_the_middle_as_large_as_the_whole():
    """A ramp stays a ramp, two thirds as steep."""
    ramp = np.tile(np.arange(0, 192, 6, dtype=np.uint8)[None, :, None], (32, 1, 3))[None]
    found = nearer(ImageSet("some", ramp, np.array([3])))
    assert (found.images.shape, found.images.dtype, found.labels) == (ramp.shape, np.uint8, None)
    assert np.diff(found.images[0, 16, :, 0].astype(float)).mean() == pytest.approx(4, abs=0.3)
