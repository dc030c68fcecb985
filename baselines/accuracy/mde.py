"""MDE, meta-distribution energy, without its dependence on the set's size.

Paper: Peng et al., "Energy-based Automated Model Evaluation", ICLR 2024, arXiv 2401.12689. Code:
github.com/pengr/Energy_AutoEval.
"""

import numpy as np
from scipy.special import log_softmax, logsumexp

from starter.observing.observation import Observation, Source


def mde(target: Observation, source: Source) -> float:
    """Meta-distribution energy, minus log n (Peng et al. 2024).

    Returns -mean_i log softmax(E)_i - log n in nats, >= 0, with energies E_i = -logsumexp_c f_ic. f (n, k)
    are the logits, and the softmax is over the n images. The paper's score includes log n, which is
    subtracted here, since sets differ in size, and the authors' code takes its logarithm, which is left out.
    The result is log mean exp(E) - mean E: 0 if all energies are equal, and half their variance if they are
    normal.
    """
    energies = -logsumexp(target.logits.astype(np.float64), axis=1)
    return float(-log_softmax(energies).mean() - np.log(len(energies)))
