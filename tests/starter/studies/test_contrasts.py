"""Images that two detectors rank differently, and ranks from nearer, by loops over small numbers."""

import numpy as np
import pytest

from starter.data.images.imageset import ImageSet
from starter.studies.contrasts import SHOWN, contrast_table, nearer, zoom_table
from starter.studies.failure import Scored

RNG = np.random.default_rng(0)
RIGHT, RIGHT_NEAR, ROWS = RNG.random(60) < 0.7, RNG.random(20) < 0.7, np.sort(RNG.permutation(60)[:20])


def scored():
    """Random scores of 60 clean images, of 20 of them from nearer, and of two kinds of OOD images."""
    ind = {"clean": (RNG.normal(size=60), RIGHT), "nearer": (RNG.normal(size=20), RIGHT_NEAR)}
    return Scored(ind, {"near": RNG.normal(size=30).round(1), "far": RNG.normal(size=30).round(1)})


DETECTORS = {"msp": scored(), "vim": scored(), "knn": scored()}


def rank(name, kind, image):
    """The share of OOD images farther out, ties half, one by one."""
    own, ood = DETECTORS[name].kinds[kind][image], np.concatenate([*DETECTORS[name].ood.values()])
    return np.mean([(each > own) + (each == own) / 2 for each in ood])


def test_contrasts_are_the_largest_falls_of_rank():
    found = contrast_table(DETECTORS)
    assert found.groupby(["detector", "kind"]).size().to_dict() == {
        (name, kind): SHOWN for name in ("vim", "knn") for kind in ("clean", "nearer", "near", "far")
    }
    for name, kind in (("vim", "clean"), ("knn", "far")):
        count = len(DETECTORS[name].kinds[kind])
        falls = {image: rank("msp", kind, image) - rank(name, kind, image) for image in range(count)}
        own = found[(found.detector == name) & (found.kind == kind)]
        assert sorted(falls.values())[: -SHOWN - 1 : -1] == pytest.approx(
            (own.rank_by_first - own["rank"]).tolist()
        )
        assert [falls[image] for image in own.image] == pytest.approx(
            (own.rank_by_first - own["rank"]).tolist()
        )


def test_a_zoom_counts_images_that_are_right_twice_and_shows_the_largest_fall():
    found = zoom_table(DETECTORS, ROWS).set_index("detector")
    both = [place for place in range(20) if RIGHT_NEAR[place] and RIGHT[ROWS[place]]]
    assert set(found.images) == {len(both)}
    falls = {
        name: {place: rank(name, "clean", ROWS[place]) - rank(name, "nearer", place) for place in both}
        for name in DETECTORS
    }
    most = max(both, key=lambda place: falls["vim"][place] + falls["knn"][place] - 2 * falls["msp"][place])
    assert set(found.image) == {most}
    for name in DETECTORS:
        assert found.image_rank[name] - found.image_rank_near[name] == pytest.approx(falls[name][most])
        assert found["rank"][name] == pytest.approx(np.mean([rank(name, "clean", ROWS[i]) for i in both]))
    none = {
        name: Scored({**each.ind, "nearer": (each.ind["nearer"][0], np.zeros(20, bool))}, each.ood)
        for name, each in DETECTORS.items()
    }
    assert len(zoom_table(none, ROWS)) == 0


def test_nearer_is_the_middle_as_large_as_the_whole():
    """A ramp stays a ramp, two thirds as steep."""
    ramp = np.tile(np.arange(0, 192, 6, dtype=np.uint8)[None, :, None], (32, 1, 3))[None]
    found = nearer(ImageSet("some", ramp, np.array([3])))
    assert (found.images.shape, found.images.dtype, found.labels) == (ramp.shape, np.uint8, None)
    row = found.images[0, 16, :, 0].astype(float)
    assert row.mean() == pytest.approx(ramp.mean(), abs=3)
    assert np.diff(row).mean() == pytest.approx(4, abs=0.3)
