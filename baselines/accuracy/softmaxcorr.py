"""SoftmaxCorr, the similarity of the correlation between predicted classes to a diagonal matrix.

Paper: Tu, Deng, Gedeon & Zheng, "What Does Softmax Probability Tell Us about Classifiers Ranking Across
Diverse Test Conditions?", TMLR 2024.
"""

import numpy as np

from starter.observing.observation import Observation, Source


def softmaxcorr(target: Observation, source: Source) -> float:
    """Cosine of the class correlation with the class prior (Tu et al. 2024).

    Returns cos(C, R), in [0, 1], with C = P^T P / n (k, k) for the softmax P (n, k), and R = diag(prior). The
    cosine is that of the matrices as vectors, trace(C R) / (|C|_F |R|_F). The paper takes the class prior
    from a zero-shot model; here it is the share of each class among the source's labels.
    """
    k = target.logits.shape[1]
    correlation = target.probabilities.T @ target.probabilities
    prior = np.bincount(source.labels, minlength=k)
    product = np.diagonal(correlation) @ prior
    return float(product / (np.linalg.norm(correlation) * np.linalg.norm(prior)))
