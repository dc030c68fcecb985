"""Plug-in estimates: a mix's scores less those of its IND images leave those of its OOD images."""

from baselines.contract.estimator import Estimator
from baselines.ood.mixture_proportion import ind_share, plug_in
from baselines.ood.scored import mix_scores, reference_scores
from starter.observing.observation import MetaTrain, ScoredMix
from submission.errors import UnusableInput


class Plugin(Estimator):
    """The metric by subtraction where the IND share is known: what makes fixed ratios easy.

    At a share p, the part of a mix below the threshold that keeps 95 % of IND is .95 p + (1 - p) FPR@95.

    Args:
        share: of the mixes' IND images; 0.5 is the paper's 1:1.
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
    """The metric by subtraction, the IND share estimated from the mix (mixture-proportion estimation)."""

    def _fit(self, meta: MetaTrain) -> None:
        self.reference_ = reference_scores(meta.source)

    def _predict(self, mix: ScoredMix) -> float:
        scores = mix_scores(mix)
        return plug_in(mix.metric, scores, self.reference_, ind_share(scores, self.reference_))
