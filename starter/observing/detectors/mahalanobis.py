"""Mahalanobis, also MDS: distance to the nearest class mean of the features (Lee et al., NeurIPS 2018).

"A Simple Unified Framework for Detecting Out-of-Distribution Samples and Adversarial Attacks", arXiv
1807.03888; without its input preprocessing and its ensemble of layers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from starter.observing.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray


@dataclass
class Mahalanobis(Detector):
    """min_c (h - mu_c)' S^-1 (h - mu_c), with class means mu_c and pooled covariance S of the features h.

    Both are computed from the training images under their predicted classes, of which nearly all are right.
    The computation is in float64: pytorch-ood inverts S in float32, which gives noise if features are
    linearly dependent. `ridge` times the diagonal's mean is added to the diagonal of S.
    """

    ridge: float = 1e-9

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        rows, classes = features(source.train_ref).numpy(), source.train_ref.predicted
        present, members = np.unique(classes, return_inverse=True)
        means = np.stack([rows[classes == label].mean(axis=0) for label in present])
        centred = rows - means[members]
        covariance = centred.T @ centred / len(rows)
        spread = np.trace(covariance) / len(covariance)
        covariance[np.diag_indices_from(covariance)] += self.ridge * (spread or 1.0)
        self.factor_ = np.linalg.cholesky(covariance)
        self.means_ = self._whitened(means)

    def _score(self, observation: Observation) -> Scores:
        return cdist(self._whitened(features(observation).numpy()), self.means_, "sqeuclidean").min(axis=1)

    def _whitened(self, rows: FloatArray) -> FloatArray:
        """Returns L^-1 h for every row h, with S = L L'."""
        return solve_triangular(self.factor_, rows.T, lower=True).T
