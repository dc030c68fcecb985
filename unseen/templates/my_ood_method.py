"""A method of your own for the OOD track. It already runs: change `indicator`, `_fit` and `_predict`.

Check it with `unseen check-method my_ood_method:MyOodMethod --track ood`, run it with
`unseen predict DIR my_ood_method:MyOodMethod`.
Before you hand in, `unseen validate DIR FILE`: invalid files count, too.
"""

import numpy as np

from unseen import Estimator, MetaTrain, ScoredMix


class MyOodMethod(Estimator):
    """A line that predicts the metric from the share of images above the threshold that keeps 95 % of IND."""

    # The fields of mix.observation that you read besides the logits: "moments", "features", "image_stats",
    # "rotation", "rotations", "grey", "peers", "referee", "referee_features".
    needs = ()

    def __init__(self, degree: int = 1) -> None:
        # Store each parameter in an attribute of its name: `--set my_ood_method:MyOodMethod.degree=2` changes
        # one.
        self.degree = degree

    def indicator(self, mix: ScoredMix) -> float:
        """Returns the share of the mix's scores above the threshold, in [0, 1]."""
        # mix.detector and mix.metric name the subject; higher scores mean more OOD.
        return float((mix.scores > self.threshold_).mean())

    def _fit(self, meta: MetaTrain) -> None:
        # meta.sets: unlabelled mixes; meta.targets: the detector's true metric on them, in [0, 1];
        # meta.ood: True for the OOD images of each mix; meta.source: the in-distribution reference, with
        # scores. `save` writes the attributes that end in an underscore: arrays, numbers, text.
        self.threshold_ = float(np.quantile(np.asarray(meta.source.scores), 0.95))
        values = [self.indicator(mix) for mix in meta.sets]
        self.coefficients_ = np.polynomial.polynomial.polyfit(values, meta.targets, self.degree)

    def _predict(self, mix: ScoredMix) -> float:
        # Return a fraction for one mix. Values slightly outside [0, 1] are clipped; 73.0 would be refused.
        return float(np.polynomial.polynomial.polyval(self.indicator(mix), self.coefficients_))
