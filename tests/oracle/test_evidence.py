"""Evidence of single images, computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit, softmax

from baselines.accuracy.priors import bias_corrected, em_prior, reweighted, source_prior
from baselines.contract.conformance import example_meta_train, example_observation
from oracle.evidence import AGREES, OWN, Evidence, agreement
from starter.observing.observation import ROTATED
from submission import UnusableInput

SOURCE = example_meta_train().source
SEEN, _ = example_observation("seen", 50, 2.0, seed=7)
BARE = replace(SOURCE, observation=replace(SOURCE.observation, views={}))
ROWS = np.arange(50)


def odds(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


def adapted(p):
    return reweighted(p, source_prior(SOURCE), em_prior(p, source_prior(SOURCE)))


def test_the_classifiers_evidence_comes_first_and_needs_no_referee():
    table = Evidence.of(SOURCE).table(SEEN)
    alone = Evidence.of(BARE).table(replace(SEEN, views={}))
    assert (table.shape, alone.shape) == ((50, AGREES + 1), (50, len(OWN)))
    np.testing.assert_array_equal(table[:, :4], alone[:, :4])
    assert (alone[:, 4:] == 0).all()


def test_confidence_under_both_priors_and_the_sets_means():
    calibration = bias_corrected(SOURCE)
    logits = SEEN.logits.astype(np.float64)
    p = softmax(logits * calibration[0] + calibration[1:], axis=1)
    confidence = odds(p[ROWS, SEEN.predicted])
    top = np.sort(logits, axis=1)
    expected = [
        odds(adapted(p)[ROWS, SEEN.predicted]),
        confidence,
        np.full(50, confidence.mean()),
        np.full(50, (top[:, -1] - top[:, -2]).mean()),
    ]
    np.testing.assert_allclose(Evidence.of(BARE).table(SEEN)[:, :4], np.column_stack(expected))


def test_what_the_classifier_says_of_turned_copies():
    calibration = bias_corrected(SOURCE)
    turned = [
        softmax(logits.astype(np.float64) * calibration[0] + calibration[1:], axis=1)
        for logits in SEEN.rotations.values()
    ]
    assert len(turned) == 3
    p = sum(turned) / 3
    table = Evidence.of(SOURCE).table(SEEN)
    for column, values in ((4, p[ROWS, SEEN.predicted]), (6, p.max(axis=1))):
        np.testing.assert_allclose(table[:, column], values)
        np.testing.assert_allclose(table[:, column + 1], values.mean())


def test_the_referee_is_calibrated_and_adapted():
    log_q = np.log(SEEN.referee)
    as_classifier = replace(SOURCE.observation, logits=np.log(SOURCE.observation.referee).astype(np.float32))
    calibration = bias_corrected(replace(SOURCE, observation=as_classifier))
    q = softmax(log_q * calibration[0] + calibration[1:], axis=1)
    table = Evidence.of(SOURCE).table(SEEN)
    agrees = adapted(q).argmax(axis=1) == SEEN.predicted
    expected = [odds(q.max(axis=1)), odds(adapted(q)[ROWS, SEEN.predicted]), odds(q[ROWS, SEEN.predicted])]
    for column, values in zip((8, 10, 12), expected, strict=True):
        np.testing.assert_allclose(table[:, column], values, atol=1e-3)
        np.testing.assert_allclose(table[:, column + 1], values.mean(), atol=1e-3)
    np.testing.assert_array_equal(table[:, AGREES], agrees)
    assert 0 < agrees.mean() < 1
    assert agreement(table) == agrees.mean()


def test_evidence_is_finite_where_everything_is_certain():
    sure = np.full((3, 10), -500, np.float32)
    sure[:, 4] = 500
    views = {name: np.roll(sure, 1, axis=1) for name in ("referee:other", *ROTATED)}
    certain = replace(SEEN.take(np.arange(3)), logits=sure, views=views)
    assert np.isfinite(Evidence.of(SOURCE).table(certain)).all()


def test_a_set_without_the_referee_is_named():
    views = {name: logits for name, logits in SEEN.views.items() if not name.startswith("referee:")}
    with pytest.raises(UnusableInput, match="fitted with a referee, without which set 'seen' was observed"):
        Evidence.of(SOURCE).table(replace(SEEN, views=views))
