"""ORA-L: trees on the oracle's table."""

import numpy as np
import pytest

from baselines import Constant
from baselines.contract.conformance import example_meta_train, example_observation
from oracle import OraL
from submission import UnusableInput


def test_learns_to_tell_easy_sets_from_hard_ones():
    meta = example_meta_train(sets=30, n=80)
    pairs = [
        example_observation(f"t{i}", 200, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    observations = [observation for observation, _ in pairs]
    predicted = OraL(trees=50).fit(meta).predict(observations)
    constant = Constant().fit(meta).predict(observations)
    assert np.abs(predicted - truth).mean() < 0.5 * np.abs(constant - truth).mean()


def test_learns_from_no_more_images_than_it_is_told():
    meta = example_meta_train(sets=20)
    roots = OraL(trees=1, most=600).fit(meta).trees_.dump_model()["tree_info"][0]["tree_structure"]
    assert 250 < roots["internal_count"] < 350  # half of them in each tree
    with pytest.raises(UnusableInput, match="most must be a whole number in"):
        OraL(most=0).fit(meta)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"trees": 0}, "trees must be a whole number in 1..100,000, got 0"),
        ({"leaves": 1}, "leaves must be a whole number in 2..10,000, got 1"),
        ({"rate": 0.0}, r"rate must be in \(0, 1\], got 0.0"),
        ({"seed": -1}, "seed must be a whole number in"),
        ({"estimate": "median"}, "estimate must be threshold, mean, cv, got 'median'"),
    ],
)
def test_refuses_parameters_out_of_range(parameters, message):
    with pytest.raises(UnusableInput, match=message):
        OraL(**parameters).fit(example_meta_train(sets=2))
