"""OOD detectors, one in each file; `DETECTORS` holds them by name."""

from collections.abc import Iterable

from starter.observing.detectors.ash import ASH
from starter.observing.detectors.detector import Detector
from starter.observing.detectors.dice import DICE
from starter.observing.detectors.energy import Energy
from starter.observing.detectors.gradnorm import GradNorm
from starter.observing.detectors.knn import KNN
from starter.observing.detectors.mahalanobis import Mahalanobis
from starter.observing.detectors.maxcos import MaxCosine
from starter.observing.detectors.maxlogit import MaxLogit
from starter.observing.detectors.msp import MSP
from starter.observing.detectors.odin import ODIN
from starter.observing.detectors.oodl import OODL
from starter.observing.detectors.openmax import OpenMax
from starter.observing.detectors.rankfeat import RankFeat
from starter.observing.detectors.react import ReAct
from starter.observing.detectors.ts import TS
from starter.observing.detectors.vim import ViM
from submission.errors import UnusableInput

__all__ = ["DETECTORS", "Detector", "by_name"]

DETECTORS: dict[str, Detector] = {
    "msp": MSP(),
    "ts": TS(),
    "odin": ODIN(),
    "ip_ts_mls": ODIN("logit"),
    "energy": Energy(),
    "mls": MaxLogit(),
    "mahalanobis": Mahalanobis(),
    "knn": KNN(),
    "vim": ViM(),
    "react": ReAct(),
    "ash_b": ASH("b"),
    "ash_s": ASH("s"),
    "dice": DICE(),
    "gradnorm": GradNorm(),
    "rankfeat": RankFeat(),
    "openmax": OpenMax(),
    "maxcos": MaxCosine(),
    "oodl": OODL(),
}
"""Unfitted detectors by name; `fit` returns a fitted copy."""


def by_name(names: Iterable[str]) -> dict[str, Detector]:
    """Returns the detectors with these names."""
    for name in (names := list(names)):
        if name not in DETECTORS:
            raise UnusableInput(f"no detector is called {name!r}; there are {', '.join(DETECTORS)}")
    return {name: DETECTORS[name] for name in names}
