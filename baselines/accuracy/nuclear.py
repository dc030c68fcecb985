"""Nuclear norm of the softmax matrix.

Paper: Deng, Suh, Gould & Zheng, "Confidence and Dispersity Speak: Characterising Prediction Matrix for
Unsupervised Accuracy Estimation", ICML 2023, arXiv 2302.01094.
"""

import numpy as np

from starter.observing.observation import Observation, Source


def nuclear(target: Observation, source: Source) -> float:
    """Nuclear norm of the softmax matrix (Deng et al. 2023).

    Returns |P|_* / sqrt(min(n, k) n), in (0, 1], of the softmax P (n, k). It is 1 if every prediction is
    certain and all classes are predicted equally often (n a multiple of k, or n < k and all different), so it
    is high for predictions that are both confident and diverse.
    """
    n, k = target.probabilities.shape
    singular_values = np.linalg.svd(target.probabilities, compute_uv=False)
    return float(singular_values.sum() / np.sqrt(min(n, k) * n))
