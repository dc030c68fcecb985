"""Subjects of the OOD track: meta-train mixes from pools are what observing their images gives."""

import numpy as np
import pytest
from rules import with_fields

from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.ood.observe import MixSets
from starter.contest.tracks import open_subjects
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.sets.rendering import FromRecipe
from starter.observing.detectors import DETECTORS
from starter.observing.detectors.metrics import auroc
from starter.observing.observation import ScoredMix
from starter.observing.sets import PublicSets


@pytest.fixture(scope="module")
def subjects(ood_built):
    return open_subjects(ood_built, ("moments", "image_stats", "rotations"))


def test_a_mix_from_pools_is_what_its_images_give(ood_built, subjects):
    meta = subjects["tiny:energy:auroc"].meta_train()
    needs = ("moments", "features", "image_stats", "rotations")
    plain = ClassifierSubject.open(PublicSets(ood_built), "tiny", needs)
    for number in (0, 7):
        mix = meta.sets[number]
        assert isinstance(mix, ScoredMix)
        made = mix.observation
        assert (mix.detector, mix.metric, made.classifier) == ("energy", "auroc", "tiny")
        seen = plain.observe((FromRecipe.whole(ImageSet("x", made.images())),))[0]
        np.testing.assert_allclose(made.logits, seen.logits, atol=1e-4)
        np.testing.assert_allclose(made.image_stats, seen.image_stats, atol=1e-4)
        np.testing.assert_allclose(made.rotations["rotate90"], seen.rotations["rotate90"], atol=1e-4)
        np.testing.assert_allclose(made.moments.covariance, seen.moments.covariance, atol=5e-3)
        scores = DETECTORS["energy"].fit(plain.source).score(seen)
        np.testing.assert_allclose(mix.scores, scores, atol=1e-4)
        is_ood = meta.ood[number]
        assert meta.targets[number] == pytest.approx(auroc(mix.scores[~is_ood], mix.scores[is_ood]))


def test_studies_resize_images_as_the_build_did(ood_built):
    padded = with_fields(ood_built, settings={**ood_built.settings, "resize": "pad"})
    assert [MixSets(each).fit for each in (ood_built, padded)] == [Fit((32, 32)), Fit((32, 32), "pad")]


def test_subjects_share_what_is_seen_and_meta_train_has_no_classes_of_correct_images(subjects):
    assert len({id(subject.memory) for subject in subjects.values()}) == 1
    assert list(subjects) == ["tiny:msp:fpr95", "tiny:msp:auroc", "tiny:energy:fpr95", "tiny:energy:auroc"]
    meta = subjects["tiny:msp:fpr95"].meta_train()
    assert meta.correct == ()
    assert len(meta.source.scores) == len(meta.source.labels)
    assert all(len(family) == 1 for family in meta.families)
    assert len(meta.sets[2:5]) == 3


def test_test_mixes_come_from_their_files(ood_built, subjects):
    mixes = subjects["tiny:msp:fpr95"].observations("test")
    assert [mix.set_name for mix in mixes] == list(ood_built.sets("test"))
    seen = mixes[0].observation
    assert seen.moments is not None
    np.testing.assert_allclose(mixes[0].scores, -seen.probabilities.max(axis=1), atol=1e-6)


def test_scores_are_kept(ood_contest, monkeypatch):
    open_subjects(ood_contest, ())["tiny:msp:fpr95"].observations("val")
    subject = open_subjects(ood_contest, ())["tiny:msp:fpr95"]
    monkeypatch.setattr(type(DETECTORS["msp"]), "_score", None)
    assert len(subject.observations("val")[0].scores) == 80
