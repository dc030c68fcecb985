"""Plug-in estimates: subtracting the IND scores from a mix's scores leaves the scores of its OOD images.

The metric follows from the two distributions, F_ref for IND and (F_mix - p F_ref) / (1 - p) for OOD images,
with the IND share p. For the share: Garg et al., "Mixture Proportion Estimation and PU Learning: A Modern
Approach", NeurIPS 2021. The estimate was developed for this kit.
"""

from baselines.contract.estimator import Estimator
from baselines.ood.mixture_proportion import ind_share, plug_in
from baselines.ood.scored import mix_scores, reference_scores
from starter.observing.observation import MetaTrain, ScoredMix
from submission.errors import UnusableInput


class Plugin(Estimator):
    """The metric by subtraction with a known IND share; it shows how easy a fixed ratio is.

    For an IND share p, the part of a mix below the threshold that keeps 95 % of IND is 0.95 p + (1 - p)
    FPR@95.

    Args:
        share: IND share of the mixes, in (0, 1); 0.5 is the 1:1 of the Gscore paper.
    """

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def _fit(self, meta: MetaTrain) -> None:
        if not 0 < self.share < 1:
            raise UnusableInput(f"plugin: share must lie between 0 and 1, got {self.share}")
        self.reference_ = reference_scores(meta.source)

    def _predict(self, mix: ScoredMix) -> float:
        scores = mix_scores(mix)
        return plug_in(mix.metric, scores, self.reference_, self.share)


class PluginMpe(Estimator):
    """The metric by subtraction, with the IND share of each mix estimated by `ind_share`."""

    def _fit(self, meta: MetaTrain) -> None:
        self.reference_ = reference_scores(meta.source)

    def _predict(self, mix: ScoredMix) -> float:
        scores = mix_scores(mix)
        return plug_in(mix.metric, scores, self.reference_, ind_share(scores, self.reference_))
