"""Plug-in estimators and the confidence rival on mixes whose truth is known."""

import numpy as np
import pytest
from mixes import gaussian_mixes, mix
from sklearn.base import clone

from baselines import OOD_BASELINES
from baselines.ood.confident import Confident
from baselines.ood.plugin import Plugin
from starter.detectors.metrics import fpr
from submission.errors import UnusableInput


def rmse(method, meta, test):
    return np.sqrt(np.mean((clone(method).fit(meta).predict(test.sets) - test.targets) ** 2))


def test_the_known_share_is_near_the_truth_and_a_wrong_one_is_not():
    meta = gaussian_mixes(n=800, share=(0.5, 0.5))
    assert rmse(Plugin(), meta, meta) < 0.04
    assert rmse(Plugin(0.8), meta, meta) > 0.1


def test_estimating_the_share_beats_assuming_one_where_it_is_hidden():
    meta = gaussian_mixes(n=800)
    assert rmse(Plugin(None), meta, meta) < rmse(Plugin(), meta, meta)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(UnusableInput, match="share must be between 0 and 1"):
        Plugin(share).fit(gaussian_mixes(sets=3))


def test_confidence_above_the_threshold_counts_as_ind():
    meta = gaussian_mixes(sets=4)
    logits = np.array([[5.0, 0, 0], [6.0, 0, 0], [1.0, 0, 0], [0.0, 0, 0]])
    scores = [0.1, 0.7, 0.5, 0.9]
    method = Confident().fit(meta)
    assert method.predict([mix(scores, logits=logits)])[0] == fpr([0.1, 0.7], [0.5, 0.9]) == 0.5
    assert method.predict([mix(scores, logits=logits, metric="auroc")])[0] == 0.75
    assert method.predict([mix(scores)])[0] == pytest.approx(meta.targets.mean())


def test_every_rival_has_a_name():
    assert {"constant", "confident", "auto-eval", "plugin", "plugin-mpe"} < set(OOD_BASELINES)
