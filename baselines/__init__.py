"""Published estimators, one a file; `BASELINES` names them all."""

from baselines.atc import atc, atc_datacv
from baselines.confscore import confscore
from baselines.constant import Constant
from baselines.entropy import entropy
from baselines.estimator import Direct, Estimator, Regressed
from baselines.fd import fd
from baselines.rotation import rotation

__all__ = ["BASELINES", "Constant", "Direct", "Estimator", "Regressed"]

BASELINES: dict[str, Estimator] = {
    "constant": Constant(),
    "rotation": Regressed(rotation, needs=("rotation",)),
    "confscore": Regressed(confscore),
    "entropy": Regressed(entropy),
    "atc": Direct(atc),
    "atc+lr": Regressed(atc),
    "atc-datacv": Regressed(atc_datacv),
    "fd": Regressed(fd, needs=("moments",)),
}
"""Prototypes: clone one before fitting it."""
