"""Published estimators, one per file; `BASELINES` and `OOD_BASELINES` have prototypes to clone, by name."""

from baselines.accuracy.agreement import Agreement
from baselines.accuracy.aline import Aline
from baselines.accuracy.atc import Atc, atc, atc_datacv
from baselines.accuracy.bop import bop
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.constant import Constant
from baselines.accuracy.cot import CottPrior, cot, cott
from baselines.accuracy.dispersion import dispersion
from baselines.accuracy.doc import doc, doc_ts
from baselines.accuracy.ei import ei
from baselines.accuracy.entropy import entropy
from baselines.accuracy.fd import auto_eval, fd
from baselines.accuracy.frap import frap
from baselines.accuracy.gated import Gated
from baselines.accuracy.gde import gde
from baselines.accuracy.mano import Mano
from baselines.accuracy.mde import mde
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.priors import LabelShift
from baselines.accuracy.rotation import rotation
from baselines.accuracy.softmaxcorr import softmaxcorr
from baselines.accuracy.suitability import Suitability
from baselines.contract.estimator import Direct, Estimator, Regressed
from baselines.ood.confident import Confident
from baselines.ood.gmm import Gmm
from baselines.ood.gscore_best import GscoreBest
from baselines.ood.kmeans import kmeans
from baselines.ood.plugin import Plugin
from baselines.ood.ude import Ude

__all__ = ["BASELINES", "OOD_BASELINES", "Constant", "Direct", "Estimator", "Regressed"]

BASELINES: dict[str, Estimator] = {
    "constant": Constant(),
    "rotation": Regressed(rotation, needs=("rotation",)),
    "confscore": Regressed(confscore),
    "entropy": Regressed(entropy),
    "atc": Direct(atc),
    "atc-ts": Atc(),
    "atc-ne": Atc("negative-entropy", scaled=False),
    "atc-ne-ts": Atc("negative-entropy"),
    "atc+lr": Regressed(atc),
    "atc-datacv": Regressed(atc_datacv),
    "fd": Regressed(fd, needs=("moments",)),
    "doc": Direct(doc),
    "doc-ts": Direct(doc_ts),
    "cbpe": Direct(cbpe),
    "nuclear": Regressed(nuclear),
    "mano": Mano(),
    "cot": Direct(cot),
    "cott": Direct(cott),
    "cott-em": CottPrior("em"),
    "cott-bbse": CottPrior("bbse"),
    "cott-referee": CottPrior("referee"),
    "mlls": LabelShift("em"),
    "bbse": LabelShift("bbse"),
    "mde": Regressed(mde),
    "softmaxcorr": Regressed(softmaxcorr),
    "dispersion": Regressed(dispersion, needs=("features",)),
    "bop": Regressed(bop, needs=("features",)),
    "ei": Regressed(ei, needs=("rotations", "grey")),
    "gde": Direct(gde, needs=("peers",)),
    "gde+lr": Regressed(gde, needs=("peers",)),
    "aline": Aline(),
    "agreement": Agreement(),
    "frap": Direct(frap, needs=("referee",)),
    "suitability": Suitability(),
    "gated": Gated(),
}
"""Methods of the accuracy track by name."""
OOD_BASELINES: dict[str, Estimator] = {
    "constant": Constant(),
    "confident": Confident(),
    "auto-eval": Regressed(auto_eval, needs=("moments",)),
    "gscore-kmeans": Regressed(kmeans),
    "gscore-gmm-kl": Gmm("kl-from-ood"),
    "gscore-gmm-w": Gmm(),
    "gscore-ude-kl": Ude("kl-from-ood"),
    "gscore-ude-w": Ude(),
    "plugin": Plugin(),
    "plugin-mpe": Plugin(None),
    "gscore-best": GscoreBest(),
}
"""Methods of the OOD track by name."""
