"""The random-network check on digits: random networks do tell shifts apart, a detector of nothing does not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from starter.classifiers import use_network
from starter.detectors import DETECTORS, Detector
from starter.images.imageset import ImageSet
from starter.sources.glyphs.digits import CLASSES, glyph_splits
from starter.studies.sanity import (
    OFFLINE,
    SHIFTS,
    Images,
    random_classifier,
    run_sanity,
    sanity,
    sanity_text,
)
from submission.errors import UnusableInput


@dataclass
class Chance(Detector):
    """Scores that have nothing to do with the image."""

    def _score(self, observation):
        return np.random.default_rng(len(observation)).uniform(size=len(observation))


@dataclass
class Infinite(Detector):
    def _score(self, observation):
        return np.full(len(observation), np.inf)


@pytest.fixture(scope="module")
def images():
    flat = np.full((70, 32, 32, 3), 128, np.uint8)
    return Images.of(glyph_splits(0), {"flat": ImageSet("flat", flat)}, images=60)


@pytest.fixture(scope="module")
def found(images):
    some = {name: DETECTORS[name] for name in ("msp", "energy", "vim")}
    detectors = {**some, "chance": Chance(), "infinite": Infinite()}
    return sanity("small", CLASSES, images, detectors, initialisations=2, progress=False)


def test_what_is_shown(images):
    assert [kind for kind, _ in images.sets] == ["noise"] * 4 + ["blur"] * 5 + ["ood"]
    assert {rendering.name for _, rendering in images.sets} == {"flat", *SHIFTS["noise"], *SHIFTS["blur"]}
    assert {len(rendering) for _, rendering in images.sets} == {60} == {len(images.ind)}
    assert (len(images.reference), len(images.train_ref)) == (60, 120)


def test_detectors_by_name_and_without():
    assert set(DETECTORS) - set(OFFLINE) == {"odin", "ip_ts_mls", "rankfeat", "oodl"}
    with pytest.raises(UnusableInput, match="'max'; there are msp, ts, odin"):
        run_sanity(["max"])


def test_every_detector_set_and_initialisation_has_a_row(found):
    assert len(found) == 5 * 10 * 2
    assert not found.duplicated(["detector", "set", "initialisation"]).any()


def test_a_detector_of_nothing_passes(found):
    by_kind = found.groupby(["detector", "kind"])["auroc"].mean()
    np.testing.assert_allclose(by_kind["chance"], 0.5)


def test_a_detector_without_finite_scores_is_nan(found):
    assert found.loc[found.detector == "infinite", "auroc"].isna().all()
    assert found.loc[found.detector != "infinite", "auroc"].between(0, 1).all()


def test_a_network_of_logits_alone_is_refused(images, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = "from torch import nn\n\n\ndef mean(k):\n    return nn.Sequential("
    (tmp_path / "alone.py").write_text(f"{text}nn.Conv2d(3, k, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())\n")
    use_network("alone:mean")
    with pytest.raises(UnusableInput, match="--arch alone:mean gives logits alone"):
        random_classifier("alone:mean", CLASSES, 0, images.reference)


def test_random_classifiers_come_from_their_seed_and_do_not_saturate(images):
    a, b, c = (random_classifier("small", CLASSES, seed, images.reference) for seed in (3, 3, 4))
    assert a.digest == b.digest != c.digest
    logits = a(images.reference.images)[0]
    assert logits.std() == pytest.approx(1, rel=0.01)
    state = torch.random.get_rng_state()
    random_classifier("small", CLASSES, 3, images.reference)
    assert torch.equal(state, torch.random.get_rng_state())


def test_labels_do_not_reach_the_ind_images(images):
    assert images.ind.base.labels is None


def test_the_table_gives_mean_and_deviation_over_initialisations(found):
    energy = (
        found[(found.detector == "energy") & (found.kind == "blur")].groupby("initialisation")["auroc"].mean()
    )
    table = sanity_text(found)
    row = next(line for line in table.splitlines() if line.startswith("energy"))
    assert f"{energy.mean():.2f} ± {energy.std(ddof=0):.2f}" in row
    heading, _, kinds, *_ = table.splitlines()
    assert heading == "AUROC, mean and standard deviation over 2 random networks; 0.5 is chance level"
    assert kinds.split() == ["kind", "noise", "blur", "ood"]


def test_the_table_of_one_network_has_no_deviation(found):
    table = sanity_text(found[found.initialisation == 0])
    assert table.startswith("AUROC, of one random network; 0.5 is chance level\n")
    assert "±" not in table


def test_the_same_seed_gives_the_same_rows(images):
    few = replace(images, sets=images.sets[:1])
    runs = [
        sanity("small", CLASSES, few, {"mls": DETECTORS["mls"]}, 1, seed=5, progress=False) for _ in range(2)
    ]
    assert runs[0].equals(runs[1])
