"""ATC's other forms: the score and the temperature, against a loop."""

import math

import pytest

from baselines import BASELINES
from baselines.accuracy.atc import Atc, atc
from baselines.contract.conformance import example_meta_train
from starter.observing.temperature import temperature
from submission import UnusableInput

META = example_meta_train(sets=6)
NAMES = {"atc-ts": (False, True), "atc-ne": (True, False), "atc-ne-ts": (True, True)}


def score(row, entropy, t):
    exponents = [math.exp((q - max(row)) / t) for q in map(float, row)]
    p = [each / sum(exponents) for each in exponents]
    return sum(each * math.log(each) for each in p if each) if entropy else max(p)


@pytest.mark.parametrize("name", NAMES)
def test_against_a_loop(name):
    entropy, scaled = NAMES[name]
    source = META.source
    t = temperature(source) if scaled else 1.0
    known = sorted(score(row, entropy, t) for row in source.observation.logits)
    cut = known[sum(map(int, ~source.correct))]
    method = BASELINES[name].fit(META)
    for observation in META.sets:
        expected = sum(score(row, entropy, t) >= cut - 1e-12 for row in observation.logits) / len(observation)
        assert method.predict([observation])[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_the_sources_accuracy_on_the_source(name):
    found = BASELINES[name].fit(META).predict([META.source.observation])[0]
    assert found == pytest.approx(META.source.accuracy)


def test_confidence_without_a_temperature_is_atc():
    method = Atc(scaled=False).fit(META)
    assert [atc(each, META.source) for each in META.sets] == method.predict(META.sets).tolist()


def test_refuses_another_score():
    with pytest.raises(UnusableInput, match="score must be confidence or negative-entropy, got 'margin'"):
        Atc("margin").fit(META)
