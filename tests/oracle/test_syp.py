"""SYP averages the probabilities of the two oracles."""

import numpy as np

from baselines.conformance import example_meta_train
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
