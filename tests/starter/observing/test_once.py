"""What the source alone tells is computed once, for every method that asks."""

from dataclasses import replace

import numpy as np
from observations import seen, source_of

from starter.observing.once import once
from starter.observing.temperature import likeliest_temperature, temperature

LOGITS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
LABELS = np.arange(40) % 3


def counted():
    """A function of the source, and how often it was computed."""
    calls = []

    @once
    def accuracy(source):
        calls.append(source)
        return source.accuracy

    return accuracy, calls


def test_it_is_computed_once_for_a_source_and_all_that_methods_see_of_it():
    accuracy, calls = counted()
    source = source_of(LOGITS, LABELS)
    narrowed = source.only(("moments",))
    assert accuracy(narrowed) == accuracy(source) == accuracy(source.only(())) == source.accuracy
    assert len(calls) == 1


def test_another_source_has_another_value():
    accuracy, calls = counted()
    source = source_of(LOGITS, LABELS)
    others = [replace(source, labels=(LABELS + 1) % 3), replace(source, observation=seen(-LOGITS))]
    assert [accuracy(each) for each in (source, *others)] == [each.accuracy for each in (source, *others)]
    assert len(calls) == 3


def test_the_temperature_is_kept():
    source = source_of(LOGITS, LABELS)
    assert temperature(source) == likeliest_temperature(LOGITS, LABELS)
    assert list(source.told.values()) == [temperature(source)]
