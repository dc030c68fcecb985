"""The rotation head: a linear layer on frozen features that classifies the rotation of an image."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from submission.files import digest_of

ROTATIONS = (0, 1, 2, 3)
"""Numbers of quarter turns, counter-clockwise."""


@dataclass(frozen=True)
class RotationHead:
    """Weights (4, d) and bias (4,), float32, over the penultimate features."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    @cached_property
    def digest(self) -> str:
        """Hash of the weights and the bias."""
        return digest_of(self.weight.tolist(), self.bias.tolist())

    def told_apart(self, features: torch.Tensor) -> torch.Tensor:
        """Returns True for each correctly classified rotation, bool (4, n), from features (4, n, d)."""
        weight = torch.from_numpy(self.weight).to(features)
        bias = torch.from_numpy(self.bias).to(features)
        guess = (features @ weight.T + bias).argmax(dim=-1)
        return guess == torch.arange(len(ROTATIONS), device=features.device)[:, None]


def turned(images: torch.Tensor, quarter_turns: int) -> torch.Tensor:
    """Returns images, uint8 (n, 3, h, w), rotated counter-clockwise by quarter turns."""
    return torch.rot90(images, quarter_turns, dims=(2, 3)).contiguous()


def fit_rotation_head(features: NDArray[np.floating]) -> RotationHead:
    """Returns a logistic regression of the rotation on frozen features (Deng, Gould & Zheng, ICML 2021).

    The paper is "What Does Rotation Prediction Tell Us about Classifier Accuracy under Varying Testing
    Environments?". The backbone is frozen; only this linear layer is fitted, on unlabelled training images
    with the rotations as labels. Features are standardised for the fit, and the scaling is folded into the
    weights.

    Args:
        features: Features of n images under each of the four rotations, (4, n, d).
    """
    if features.ndim != 3 or len(features) != len(ROTATIONS):
        raise ValueError(f"features of the four rotations must be (4, n, d), got {features.shape}")
    rows = features.reshape(-1, features.shape[2]).astype(np.float64)
    labels = np.repeat(ROTATIONS, features.shape[1])
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=0.1, max_iter=300, tol=1e-3).fit(scaler.transform(rows), labels)
    weight = model.coef_ / scaler.scale_
    bias = model.intercept_ - weight @ scaler.mean_
    return RotationHead(weight.astype(np.float32), bias.astype(np.float32))
