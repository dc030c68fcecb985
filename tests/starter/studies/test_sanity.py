"""The random-network check on digits: random networks do tell shifts apart, a detector of nothing does not."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from starter.data.sets.rendering import FromRecipe
from starter.data.sources.glyphs.digits import CLASSES, glyph_splits
from starter.models.classifiers import use_network
from starter.observing.detectors import DETECTORS, Detector
from starter.studies.sanity import GOALS, SHIFTS, random_classifier, sanity, sanity_sets, sanity_text
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


def few(ood_folder):
    return sanity_sets(ood=ood_folder, images=60)


@pytest.fixture(scope="module")
def found(ood_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DETECTORS, "chance", Chance())
        patch.setitem(DETECTORS, "infinite", Infinite())
        names = ["msp", "energy", "vim", "chance", "infinite"]
        return sanity(*few(ood_folder), names, count=2).tables["sanity"]


@pytest.mark.slow
def test_every_detector_set_and_initialisation_has_a_row(found, ood_folder):
    kinds = found.drop_duplicates("set").groupby("kind")["set"].apply(set)
    assert kinds["noise"] | kinds["blur"] == {*SHIFTS["noise"], *SHIFTS["blur"]}
    assert kinds["ood"] == {each.name for each in ood_folder.iterdir()}
    assert len(found) == 5 * found.set.nunique() * 2
    assert not found.duplicated(["detector", "set", "initialisation"]).any()
    again = sanity(*few(ood_folder), ["energy"], count=1).tables["sanity"]
    with pytest.raises(UnusableInput, match="'max'; there are msp, ts, odin"):
        sanity(*few(ood_folder), ["max"])
    first = found[(found.detector == "energy") & (found.initialisation == 0)]
    assert again.reset_index(drop=True).equals(first.reset_index(drop=True))


def test_a_detector_of_nothing_passes_and_one_without_finite_scores_is_nan(found):
    chance = found[found.detector == "chance"]
    np.testing.assert_allclose(chance.new_class, 0.5)
    assert abs(chance.failure.mean() - 0.5) < 0.1
    assert found.loc[found.detector == "infinite", GOALS].isna().all(axis=None)
    assert found.loc[found.detector != "infinite", "new_class"].between(0, 1).all()


def test_failure_detection_tells_correct_images_of_both_sets_from_all_others(ood_folder, found):
    """Against scikit-learn, of a corrupted and of an OOD set, on the first network."""
    splits, others = few(ood_folder)
    network = random_classifier("small", splits.classes, 0, splits.reference)
    ind = FromRecipe.whole(splits.test_base)
    msp = found.query("detector == 'msp' and initialisation == 0").set_index("set").failure
    for kind, rendering in (others[0], others[-1]):
        logits = torch.cat([network(torch.cat([*each.chunks()]))[0] for each in (ind, rendering)])
        known = ind.labels() if kind != "ood" else np.full(len(rendering), -1)
        right = logits.argmax(1).numpy() == np.concatenate([ind.labels(), known])
        expected = roc_auc_score(right, logits.softmax(1).amax(1).numpy())
        assert msp[rendering.name] == pytest.approx(expected, abs=1e-6)


def test_random_classifiers_come_from_their_seed_and_do_not_saturate(tmp_path, monkeypatch):
    reference = glyph_splits(0).reference.take(np.arange(60))
    state = torch.random.get_rng_state()
    a, b, c = (random_classifier("small", CLASSES, seed, reference) for seed in (3, 3, 4))
    assert a.digest == b.digest != c.digest
    assert torch.equal(state, torch.random.get_rng_state())
    assert a(reference.images)[0].std() == pytest.approx(1, rel=0.01)
    monkeypatch.syspath_prepend(tmp_path)
    text = "from torch import nn\n\n\ndef mean(k):\n    return nn.Sequential("
    (tmp_path / "alone.py").write_text(f"{text}nn.Conv2d(3, k, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())\n")
    use_network("alone:mean")
    with pytest.raises(UnusableInput, match="arch alone:mean gives logits alone"):
        random_classifier("alone:mean", CLASSES, 0, reference)


def test_the_table_gives_mean_and_deviation_over_initialisations(found):
    blur = found[(found.detector == "energy") & (found.kind == "blur")]
    energy, table = blur.groupby("initialisation")["new_class"].mean(), sanity_text(found)
    row = next(line for line in table.splitlines() if line.startswith("energy"))
    assert f"{energy.mean():.2f} ± {energy.std(ddof=0):.2f}" in row
    assert table.splitlines()[2].split() == ["new_class", "failure"]
    assert table.splitlines()[3].split() == ["kind", *["noise", "blur", "ood"] * 2]
    assert "±" not in sanity_text(found[found.initialisation == 0])
