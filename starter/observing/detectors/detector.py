"""Base class of OOD detectors, which are fitted on the labelled source and score unlabelled images."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import linear

from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput

Scores = FloatArray | Tensor


class Detector(ABC):
    """Separates images of other classes (OOD) from those of the classifier's classes (IND).

    Higher scores are more OOD. A subclass is a dataclass of its hyperparameters: its scores depend only on
    its `repr`, the source and the set. It implements `_score` and, if it has parameters to fit, `_fit`.

    Attributes:
        needs: Names of the fields of an Observation that it reads, apart from the logits.
        online: True if scoring runs the network on the images (for gradients or early layers). Such scores
            take long, so they are cached.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    online: ClassVar[bool] = False

    def fit(self, source: Source) -> "Detector":
        """Returns a fitted copy of this detector. Fitting uses no OOD images.

        Args:
            source: Labelled images of the source, as the classifier sees them; online detectors need
                its network.
        """
        for observation in (source.observation, source.train_ref):
            self._check(observation)
        fitted = copy.copy(self)
        fitted._fit(source)
        return fitted

    def score(self, observation: Observation) -> FloatArray:
        """Returns the score of each image, float64 (n,), finite, higher = more OOD.

        The scores of a set do not depend on other sets. Only what `fit` returned can score.

        Args:
            observation: Observation of a set of n images.

        Raises:
            UnusableInput: a score is NaN or infinite.
        """
        self._check(observation)
        scores = torch.as_tensor(self._score(observation), dtype=torch.float64).numpy()
        finite = np.isfinite(scores)
        if not finite.all():
            raise UnusableInput(
                f"{self} gives no finite score for {(~finite).sum()} of {len(scores)} images of set "
                f"{observation.set_name!r} seen by {observation.classifier!r}: leave the detector out there"
            )
        return scores

    def _fit(self, source: Source) -> None:  # noqa: B027 (some have nothing to fit)
        """Compute the parameters for `_score`, and keep them in attributes that end in an underscore."""

    @abstractmethod
    def _score(self, observation: Observation) -> Scores:
        """Returns the scores (n,), higher = more OOD."""

    def _check(self, observation: Observation) -> None:
        for need in self.needs:
            if getattr(observation, need) is None:
                raise ValueError(
                    f"{self} needs `{need}`, which set {observation.set_name!r} was observed without"
                )


def tensor(values: ArrayLike) -> Tensor:
    """Returns the values as float64: in float32 the softmax of confident images rounds to 1."""
    return torch.tensor(np.asarray(values, dtype=np.float64))


def features(observation: Observation) -> Tensor:
    """Returns the penultimate features, float64 (n, d)."""
    assert observation.features is not None
    return tensor(observation.features)


def head(source: Source) -> Callable[[Tensor], Tensor]:
    """Returns the last layer, a function from features (n, d) or maps (n, d, 1, 1) to logits (n, k)."""
    weight, bias = tensor(source.head_weight), tensor(source.head_bias)
    return lambda maps: linear(maps.flatten(1), weight, bias)
