"""auto-eval: FD of a mix, as AutoEval, which knows nothing of OOD scores.

Paper: Deng & Zheng, "Are Labels Always Necessary for Classifier Accuracy Evaluation?", CVPR 2021, arXiv
2007.02915.
"""

from baselines.accuracy.fd import fd
from starter.observing.observation import ScoredMix, Source


def auto_eval(mix: ScoredMix, source: Source) -> float:
    """Frechet distance to the training images' features (Deng & Zheng 2021).

    It is `fd` of the classifier's observation of the mix.
    """
    return fd(mix.observation, source)
