"""ORA-B as an estimator: its parameters reach the network."""

import pytest

from baselines.contract.conformance import example_meta_train
from oracle import OraB
from submission import UnusableInput

QUICK = {"iterations": 5, "batch_size": 20}


@pytest.mark.parametrize(("tokens", "inputs"), [("one", (48, 6)), ("indicators", (6, 48))])
def test_tokens_reach_the_network(tokens, inputs):
    network = OraB(tokens=tokens, **QUICK).fit(example_meta_train(sets=2)).networks_[0]
    assert tuple(next(network.embed.parameters()).shape) == inputs


def test_cross_validation_chooses_the_tokens():
    oracle = OraB(tokens="cv", **QUICK).fit(example_meta_train(sets=6))
    assert oracle.chosen_["tokens"] in ("one", "indicators")
    assert oracle.tokens == "cv"


def test_refuses_other_tokens():
    with pytest.raises(UnusableInput, match="tokens must be indicators, one, cv, got 'two'"):
        OraB(tokens="two").fit(example_meta_train(sets=2))
