"""GDE: agreement with another classifier as an estimate of accuracy.

Paper: Jiang, Nagarajan, Baek & Kolter, "Assessing Generalization of SGD via Disagreement", ICLR 2022, arXiv
2106.13799.
"""

import numpy as np

from starter.observing.observation import Observation, Source


def gde(target: Observation, source: Source) -> float:
    """Agreement with the competition's other classifiers (Jiang et al. 2022).

    Returns mean_i 1[y_i = y'_i], averaged over all peers, in [0, 1]. Peers are the other classifiers of the
    competition. Two networks of one architecture, trained with different random numbers and calibrated as an
    ensemble, disagree as often as either is wrong (generalization disagreement equality). For other pairs
    agreement is only an indicator, on which `gde+lr` regresses accuracy.
    """
    assert target.peers is not None
    peers = target.peers.values()
    return float(np.mean([peer.argmax(axis=1) == target.predicted for peer in peers]))
