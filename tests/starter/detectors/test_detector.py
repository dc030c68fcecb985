"""The contract: fitted copies, checked fields, finite scores; and the detectors that read logits alone."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.special
from observations import LOGITS, seen, source_of

from starter.detectors import DETECTORS, Detector
from submission.errors import UnusableInput


def source(k):
    logits = np.random.default_rng(0).normal(size=(20, k))
    return source_of(logits, logits.argmax(axis=1))


REFERENCES = {
    "msp": lambda logits: -scipy.special.softmax(logits, axis=1).max(axis=1),
    "energy": lambda logits: -scipy.special.logsumexp(logits, axis=1),
    "mls": lambda logits: -logits.max(axis=1),
}


@pytest.mark.parametrize("case", LOGITS)
@pytest.mark.parametrize("name", REFERENCES)
def test_scores_of_logits_against_scipy(name, case):
    observation = seen(LOGITS[case])
    scores = DETECTORS[name].fit(source(observation.logits.shape[1])).score(observation)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, REFERENCES[name](observation.logits.astype(np.float64)), rtol=1e-12)


@dataclass
class Broken(Detector):
    needs = ("features",)
    value: object = np.nan

    def _score(self, observation):
        return np.full(len(observation), self.value) if isinstance(self.value, float) else self.value


def with_features(observation):
    return replace(observation, features=np.zeros((len(observation), 3), np.float16))


def featured_source():
    plain = source(4)
    return replace(
        plain, observation=with_features(plain.observation), train_ref=with_features(plain.train_ref)
    )


def test_scores_that_are_not_finite_are_refused():
    observation = with_features(seen(np.zeros((5, 4))))
    with pytest.raises(UnusableInput, match=r"no finite score for 5 of 5 images of set 's' seen by 'c'"):
        Broken().fit(featured_source()).score(observation)


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match="needs `features`, which set 's'"):
        Broken().fit(source(4))
    with pytest.raises(ValueError, match="needs `features`, which set 's'"):
        Broken().fit(featured_source()).score(seen(np.zeros((5, 4))))
