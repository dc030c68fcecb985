"""A method of your own. It already runs: change `indicator` and the way `_fit` and `_predict` use it.

Check it with `unseen check-method my_method:MyMethod`, run it with `unseen predict DIR my_method:MyMethod`.
Before you hand in, `unseen validate DIR FILE`: invalid files count, too.
"""

import numpy as np

from unseen import Estimator, MetaTrain, Observation


class MyMethod(Estimator):
    """A line that predicts accuracy from the mean margin between the two largest probabilities."""

    # The fields of an observation that you read besides its logits: "moments", "features", "image_stats",
    # "rotation", "rotations", "grey", "peers", "referee", "referee_features".
    needs = ()

    def __init__(self, degree: int = 1) -> None:
        # Store each parameter in an attribute of its name: `--set my_method:MyMethod.degree=2` changes one.
        self.degree = degree

    def indicator(self, observation: Observation) -> float:
        """Returns the mean margin between the two most likely classes, in [0, 1]."""
        top_two = np.sort(observation.probabilities, axis=1)[:, -2:]
        return float((top_two[:, 1] - top_two[:, 0]).mean())

    def _fit(self, meta: MetaTrain) -> None:
        # meta.sets: observations without labels; meta.targets: their accuracies in [0, 1];
        # meta.source.observation: ordinary images, with the same fields as a set; meta.source.labels: their
        # true classes; meta.correct: True for correctly classified images of meta.sets.
        # `save` writes the attributes that end in an underscore: arrays, numbers, text.
        values = [self.indicator(observation) for observation in meta.sets]
        self.coefficients_ = np.polynomial.polynomial.polyfit(values, meta.targets, self.degree)

    def _predict(self, observation: Observation) -> float:
        # Return a fraction for one set. Values slightly outside [0, 1] are clipped; 73.0 would be refused.
        return float(np.polynomial.polynomial.polyval(self.indicator(observation), self.coefficients_))
