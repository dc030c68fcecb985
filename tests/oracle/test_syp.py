"""SYP averages the probabilities of the two oracles."""

import numpy as np
from sklearn.base import clone

from baselines.contract.conformance import example_meta_train
from oracle import Syp


def test_a_probability_is_the_mean_of_both():
    meta = example_meta_train(sets=3)
    syp = Syp(iterations=20, batch_size=50).fit(meta)
    together = syp.probabilities(meta.sets[0])
    networks = syp.networks_
    alone = []
    for network in networks:
        syp.networks_ = [network]
        alone.append(syp.probabilities(meta.sets[0]))
    assert [type(network).__name__ for network in networks] == ["Mlp", "Attention"]
    np.testing.assert_allclose(together, np.mean(alone, axis=0), rtol=1e-6)


def test_it_is_its_two_members_put_together():
    meta = example_meta_train(sets=3)
    syp = Syp(iterations=20, batch_size=50, expansion=4, seed=3)
    ora_a, ora_b = syp.members()
    assert ora_a.get_params().items() <= {**syp.get_params(), "dropout": 0.0}.items()
    joined = clone(syp).join(ora_a.fit(meta), ora_b.fit(meta))
    expected = syp.fit(meta).probabilities(meta.sets[0])
    np.testing.assert_array_equal(joined.probabilities(meta.sets[0]), expected)
    assert joined.predict(meta.sets).tolist() == syp.predict(meta.sets).tolist()
