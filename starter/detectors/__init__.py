"""OOD detectors, one in each file; `DETECTORS` holds them by name."""

from collections.abc import Iterable

from starter.detectors.ash import ASH
from starter.detectors.detector import Detector
from starter.detectors.dice import DICE
from starter.detectors.energy import Energy
from starter.detectors.gradnorm import GradNorm
from starter.detectors.knn import KNN
from starter.detectors.mahalanobis import Mahalanobis
from starter.detectors.maxcos import MaxCosine
from starter.detectors.maxlogit import MaxLogit
from starter.detectors.msp import MSP
from starter.detectors.odin import ODIN
from starter.detectors.oodl import OODL
from starter.detectors.openmax import OpenMax
from starter.detectors.rankfeat import RankFeat
from starter.detectors.react import ReAct
from starter.detectors.ts import TS
from starter.detectors.vim import ViM
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
