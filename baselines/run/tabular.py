"""A scikit-learn regressor as a method: it learns from a table of features, one row per set."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from baselines.accuracy.atc import atc
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.cot import cot, cott
from baselines.accuracy.doc import doc
from baselines.accuracy.ei import invariance
from baselines.accuracy.entropy import entropy
from baselines.accuracy.fd import fd
from baselines.accuracy.mano import mano
from baselines.accuracy.mde import mde
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.rotation import rotation
from baselines.accuracy.softmaxcorr import softmaxcorr
from baselines.contract.estimator import Direct, Estimator, Indicator, Measured, Table
from baselines.ood.gmm import Gmm
from baselines.ood.gscore import TAUS, reference_scores
from baselines.ood.kmeans import kmeans
from baselines.ood.plugin import ind_share, plug_in
from baselines.ood.ude import Ude
from starter.observing.observation import Observation, ScoredMix, Source
from submission.arrays import FloatArray

NEEDS = {"accuracy": ("moments", "rotation", "rotations", "grey"), "ood": ("moments",)}
"""Fields of an observation from which the columns of each track are computed, besides logits and scores."""
ESTIMATE, METRIC = "an estimate of the accuracy", "an estimate of the metric"
HIGHER, LOWER, APART = "higher: more accurate", "lower: more accurate", "higher: better detection"
FEATURES = {
    "accuracy": {
        "confscore": ("mean confidence", HIGHER),
        "entropy": ("mean entropy of the softmax, in nats", LOWER),
        "atc": ("share of images above a threshold of confidence, set on the source", ESTIMATE),
        "cbpe": ("mean confidence after isotonic calibration on the source", ESTIMATE),
        "norm": ("norm of the softmax of the logits, as `mano` with its softmax", HIGHER),
        "mde": ("spread of the images' energies", HIGHER),
        "nuclear": ("nuclear norm of the softmax matrix", HIGHER),
        "softmaxcorr": ("likeness of the class correlation matrix to a diagonal one", HIGHER),
        "cot": ("1 - cost of transporting the softmax to the source's classes", ESTIMATE),
        "cott": ("share of images below a threshold of that cost, set on the source", ESTIMATE),
        "rotation": ("accuracy of a head that recognises four rotations", HIGHER),
        "turned": ("invariance of the predictions to the three rotations", HIGHER),
        "grey": ("invariance of the predictions to the loss of colour", HIGHER),
        "doc": ("source accuracy plus the difference of mean confidences", ESTIMATE),
        "fd": ("Fréchet distance from the training features", LOWER),
    },
    "ood": {
        "gscore-kmeans": ("distance of the centres of two clusters of scores", APART),
        "gscore-gmm-w": ("distance of two Gaussians fitted to the scores", APART),
        "gscore-ude-w": ("the same, with one fitted to the reference scores", APART),
        "ind-share": ("estimated share of IND images", ""),
        "plugin": ("metric of what is left without the reference scores, by a share of half", METRIC),
        "plugin-mpe": ("the same, by the estimated share", METRIC),
        "auto-eval": ("Fréchet distance from the training features", APART),
    },
}
"""The columns of each track, in order, with their meaning and direction; a direction is the usual one."""
PLAIN = (bool, int, float, str, type(None))
"""Types of the parameters that a line of text can set."""


def turned(target: Observation, source: Source) -> float:
    """Returns the mean effective invariance to the three rotations, in [0, 1]."""
    assert target.rotations is not None
    return float(np.mean([invariance(target.logits, view) for view in target.rotations.values()]))


def grey(target: Observation, source: Source) -> float:
    """Returns the mean effective invariance to the loss of colour, in [0, 1]."""
    assert target.grey is not None
    return float(invariance(target.logits, target.grey).mean())


INDICATORS: dict[str, Indicator] = {
    "confscore": confscore,
    "entropy": entropy,
    "atc": atc,
    "cbpe": cbpe,
    "norm": partial(mano, normaliser="softmax"),
    "mde": mde,
    "nuclear": nuclear,
    "softmaxcorr": softmaxcorr,
    "cot": cot,
    "cott": cott,
    "rotation": rotation,
    "turned": turned,
    "grey": grey,
    "doc": doc,
    "fd": fd,
}
"""What computes each of the FEATURES of the accuracy track; COT and COTT read one transport plan."""


def accuracy_features(observation: Observation, source: Source) -> dict[str, float]:
    """Returns the INDICATORS of a set."""
    return {name: indicator(observation, source) for name, indicator in INDICATORS.items()}


def ood_features(mix: ScoredMix, source: Source) -> dict[str, float]:
    """Returns the indicators of the OOD track's methods, named after the methods that use them."""
    reference = reference_scores(source)
    scores = mix.scores
    middle = len(TAUS) // 2
    share = ind_share(scores, reference)
    return {
        "gscore-kmeans": kmeans(mix, source),
        "gscore-gmm-w": float(Gmm().know(reference).gscores(scores)[middle]),
        "gscore-ude-w": float(Ude().know(reference).gscores(scores)[middle]),
        "ind-share": share,
        "plugin": plug_in(mix.metric, scores, reference, 0.5),
        "plugin-mpe": plug_in(mix.metric, scores, reference, share),
        "auto-eval": fd(mix.observation, source),
    }


MEASURES: dict[str, Callable[[Any, Source], dict[str, float]]] = {
    "accuracy": accuracy_features,
    "ood": ood_features,
}
"""The function of each track that computes the FEATURES of an unlabelled set."""


class Tabular(Measured):
    """A regression of accuracy on the FEATURES of a set, by any regressor or pipeline that ends in one."""

    def __init__(self, regressor: RegressorMixin, track: str = "accuracy") -> None:
        self.regressor = regressor
        self.track = track

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of an observation from which the columns are computed."""
        return NEEDS[self.track]

    def _measure(self, observation: Any) -> FloatArray:
        return np.array(list(MEASURES[self.track](observation, self.source_).values()))

    def _learn(self, table: Table) -> None:
        self.regressor_ = clone(self.regressor).fit(self._framed(table.rows), table.targets)

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.regressor_.predict(self._framed(rows)), np.float64)

    def _framed(self, rows: FloatArray) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=list(FEATURES[self.track]))

    @property
    def _kind(self) -> str:
        return f"{type(self).__name__}({type(self.regressor).__name__})"

    def parameters(self) -> dict[str, Any]:
        """Returns the parameters of the regressor and of its steps that text can set."""
        values = self.regressor.get_params(deep=True)
        return {name: value for name, value in values.items() if isinstance(value, PLAIN)}

    def set_parameters(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the regressor and of its steps."""
        self.regressor.set_params(**values)


def is_tabular(given: object) -> TypeGuard[BaseEstimator]:
    """Returns True if the argument is a scikit-learn regressor (an instance, not a class)."""
    return isinstance(given, BaseEstimator) and is_regressor(given)


def no_regressor(given: object) -> str:
    """Returns the reason why an estimator of scikit-learn cannot be a method; "" for all else."""
    if isinstance(given, type) and issubclass(given, BaseEstimator):
        return f"{given.__name__} is a class: give an instance, {given.__name__}(...)"
    if not isinstance(given, BaseEstimator) or isinstance(given, Estimator) or is_regressor(given):
        return ""
    last = given.steps[-1][1] if isinstance(given, Pipeline) else given
    kind = "a transformer" if hasattr(last, "transform") else "no regressor"
    kind = "a classifier" if is_classifier(last) else kind
    ends = "is" if last is given else f"ends in {described(last)},"
    return (
        f"{described(given)} {ends} {kind}: a method predicts a number for each set; give a regressor of "
        "scikit-learn, or a pipeline that ends in one, as make_pipeline(StandardScaler(), Ridge())"
    )


def described(given: object) -> str:
    """Returns the name of a method or regressor: its steps, with parameters other than their defaults."""
    if isinstance(given, str):
        return given
    if isinstance(given, Tabular):
        return described(given.regressor)
    if type(given) is Direct:
        return given.indicator.__name__
    steps = [step for _, step in given.steps] if isinstance(given, Pipeline) else [given]
    return "+".join(" ".join(repr(step).split()).removesuffix("()") for step in steps)
