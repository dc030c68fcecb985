"""The table of features, one row per set, from which a scikit-learn regressor learns."""

from collections.abc import Callable, Mapping
from typing import Any

from baselines.accuracy.doc import doc
from baselines.accuracy.fd import fd
from baselines.accuracy.stack import COLUMNS, indicators
from baselines.ood.gmm import Gmm
from baselines.ood.gscore import TAUS
from baselines.ood.kmeans import kmeans
from baselines.ood.mixture_proportion import ind_share, plug_in
from baselines.ood.scored import mix_scores, reference_scores
from baselines.ood.ude import Ude
from starter.observing.observation import Observation, ScoredMix, Source

Measure = Callable[[Any], Mapping[str, float]]
"""A function that returns the values of an unlabelled set by column."""
NEEDS = {"accuracy": ("moments", "rotation", "rotations", "grey"), "ood": ("moments",)}
"""Fields of an observation from which the columns of each track are computed, besides logits and scores."""
FEATURES = {
    "accuracy": (*COLUMNS, "doc", "fd"),
    "ood": (
        *("gscore-kmeans", "gscore-gmm-w", "gscore-ude-w"),
        *("ind-share", "plugin", "plugin-mpe", "auto-eval"),
    ),
}
"""The columns of each track, in order."""


def measure_of(track: str, source: Source) -> Measure:
    """Returns a function that computes the FEATURES of a set of this track.

    In the accuracy track these are the thirteen indicators of `stack`, `doc` and `fd`; in the OOD track, the
    indicators of the kit's methods. Each is a number about the whole set, named after the method that uses
    it.
    """
    return {"accuracy": _accuracy, "ood": _ood}[track](source)


def _accuracy(source: Source) -> Measure:
    def measure(observation: Observation) -> dict[str, float]:
        values = indicators(observation, source)
        values |= {"doc": doc(observation, source), "fd": fd(observation, source)}
        return {name: values[name] for name in FEATURES["accuracy"]}

    return measure


def _ood(source: Source) -> Measure:
    reference, middle = reference_scores(source), len(TAUS) // 2
    gmm, ude = Gmm().know(reference), Ude().know(reference)

    def measure(mix: ScoredMix) -> dict[str, float]:
        scores = mix_scores(mix)
        share = ind_share(scores, reference)
        return {
            "gscore-kmeans": kmeans(mix, source),
            "gscore-gmm-w": float(gmm.gscores(scores)[middle]),
            "gscore-ude-w": float(ude.gscores(scores)[middle]),
            "ind-share": share,
            "plugin": plug_in(mix.metric, scores, reference, 0.5),
            "plugin-mpe": plug_in(mix.metric, scores, reference, share),
            "auto-eval": fd(mix.observation, source),
        }

    return measure
