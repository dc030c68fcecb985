"""Published estimators, one a file; `BASELINES` names them all."""

from baselines.atc import atc, atc_datacv
from baselines.bop import Bop
from baselines.cbpe import cbpe
from baselines.confident import Confident
from baselines.confscore import confscore
from baselines.constant import Constant
from baselines.cot import Cot, Cott
from baselines.dispersion import dispersion
from baselines.doc import doc
from baselines.ei import ei
from baselines.entropy import entropy
from baselines.estimator import Direct, Estimator, Regressed
from baselines.fd import fd
from baselines.gde import gde
from baselines.gmm import Gmm
from baselines.gscore_best import GscoreBest
from baselines.kmeans import kmeans
from baselines.mano import mano
from baselines.mde import mde
from baselines.nuclear import nuclear
from baselines.plugin import Plugin, PluginMpe
from baselines.projnorm import ProjNorm
from baselines.rotation import rotation
from baselines.softmaxcorr import softmaxcorr
from baselines.stack import Stack
from baselines.ude import Ude

__all__ = ["BASELINES", "OOD_BASELINES", "Constant", "Direct", "Estimator", "Regressed"]

BASELINES: dict[str, Estimator] = {
    "constant": Constant(),
    "rotation": Regressed(rotation, needs=("rotation",)),
    "confscore": Regressed(confscore),
    "entropy": Regressed(entropy),
    "atc": Direct(atc),
    "atc+lr": Regressed(atc),
    "atc-datacv": Regressed(atc_datacv),
    "fd": Regressed(fd, needs=("moments",)),
    "doc": Direct(doc),
    "doc+lr": Regressed(doc),
    "cbpe": Direct(cbpe),
    "nuclear": Regressed(nuclear),
    "mano": Regressed(mano),
    "cot": Cot(),
    "cott": Cott(),
    "mde": Regressed(mde),
    "softmaxcorr": Regressed(softmaxcorr),
    "dispersion": Regressed(dispersion, needs=("features",)),
    "bop": Bop(),
    "ei": Regressed(ei, needs=("rotations", "grey")),
    "gde": Direct(gde, needs=("peers",)),
    "gde+lr": Regressed(gde, needs=("peers",)),
    "stack": Stack(),
    "projnorm": ProjNorm(),
}
"""Methods of the accuracy track. Prototypes: clone one before fitting it."""

OOD_BASELINES: dict[str, Estimator] = {
    "constant": Constant(),
    "confident": Confident(),
    "auto-eval": Regressed(fd, needs=("moments",)),
    "gscore-kmeans": Regressed(kmeans),
    "gscore-gmm-kl": Gmm("kl-from-ood"),
    "gscore-gmm-w": Gmm(),
    "gscore-ude-kl": Ude("kl-from-ood"),
    "gscore-ude-w": Ude(),
    "plugin": Plugin(),
    "plugin-mpe": PluginMpe(),
    "gscore-best": GscoreBest(),
}
"""Methods of the OOD track. Prototypes too."""
