"""unseen-best: what it makes of class priors, and its parts."""

from dataclasses import replace

import numpy as np
import pytest

from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.families import blocks
from oracle import UnseenBest
from oracle.unseen_best import Judge
from submission import UnusableInput

META = example_meta_train(sets=24, n=200)


def few(skill, seed):
    """A made-up set of two classes alone, and its accuracy."""
    observation, labels = example_observation("few", 2000, skill, seed)
    rows = np.flatnonzero(labels < 2)
    views = {name: logits[rows] for name, logits in observation.views.items()}
    fields = {
        name: getattr(observation, name)[rows] for name in ("logits", "features", "image_stats", "rotation")
    }
    taken = type(observation)("few", "example", views=views, **fields)
    return taken, float((taken.predicted == labels[rows]).mean())


@pytest.fixture(scope="module")
def fitted():
    return {
        estimate: UnseenBest(estimate=estimate, trees=40).fit(META)
        for estimate in ("trees", "transport", "stack")
    }


@pytest.mark.parametrize("estimate", ["trees", "transport", "stack"])
def test_tells_easy_sets_from_hard_ones(fitted, estimate):
    pairs = [
        example_observation(f"t{i}", 400, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    predicted = fitted[estimate].predict([observation for observation, _ in pairs])
    assert np.abs(predicted - truth).max() < (0.12 if estimate == "stack" else 0.5)
    assert (np.diff(predicted) > 0.1).all()


def test_few_classes_are_not_taken_for_shift(fitted):
    observation, truth = few(3.0, seed=9)
    assert fitted["transport"].predict([observation])[0] == pytest.approx(truth, abs=0.15)
    assert fitted["transport"]._transported(observation, np.ones(len(observation)), 1.0) < truth - 0.4


def test_weights_of_the_corrections_are_convex(fitted):
    weights = [weight for weight, _ in fitted["stack"].corrections_]
    assert min(weights) > 0
    assert sum(weights) == pytest.approx(1)


def test_a_row_is_judged_by_trees_that_saw_neither_its_operations_nor_its_images(monkeypatch):
    meta = example_meta_train(sets=12)
    meta = replace(meta, bases=[np.random.default_rng(i).permutation(60) for i in range(12)])
    taught, rows = [], []

    class Recorded(Judge):
        @classmethod
        def of(cls, tables, correct, *given):
            judge = cls(super().of(tables, correct, *given).forest)
            taught.append((judge, {row.tobytes() for table in tables for row in table}))
            return judge

    make = UnseenBest._make_row

    def recorded(method, labelled, judge, fold=-1, of=-1):
        seen = next(seen for known, seen in taught if known is judge)
        rows.append((fold, of, seen, {row.tobytes() for row in method._rich(labelled.judged)}))
        return make(method, labelled, judge, fold, of)

    monkeypatch.setattr("oracle.unseen_best.Judge", Recorded)
    monkeypatch.setattr(UnseenBest, "_make_row", recorded)
    method = UnseenBest(trees=3, copies=2).fit(meta)
    parts = blocks(meta.families)
    assert len(taught) == len(parts) + 2
    assert [(fold, of) for fold, of, *_ in rows] == [
        *((j, i) for j, fold in enumerate(parts) for i in fold.test),
        *[(-1, -1)] * 3,
    ]
    tables = [method._rich(method._judged(each)) for each in meta.sets]
    for fold, of, seen, judged in rows:
        assert judged.isdisjoint(seen)
        if fold >= 0:
            known = {row.tobytes() for i in parts[fold].train for row in tables[i][meta.bases[i] % 2 == 0]}
            assert known <= seen
            assert not any(row.tobytes() in seen for i in parts[fold].test for row in tables[i])
            assert judged == {row.tobytes() for row in tables[of][meta.bases[of] % 2 == 1]}


@pytest.mark.parametrize("copies", [0, 2])
def test_few_sets_and_copies_are_enough(copies):
    meta = example_meta_train(sets=4)
    predicted = UnseenBest(trees=3, copies=copies).fit(meta).predict(meta.sets[:2])
    assert ((predicted > 0) & (predicted < 1)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimate": "mean"}, "estimate must be trees, transport, stack, got 'mean'"),
        ({"copies": -1}, "copies must be a whole number in 0..1,000, got -1"),
        ({"trees": 0}, "trees must be a whole number in"),
        ({"indicators": "blur"}, "there is no indicator 'blur'"),
    ],
)
def test_refuses_parameters(parameters, message):
    with pytest.raises(UnusableInput, match=message):
        UnseenBest(**parameters).fit(META)
