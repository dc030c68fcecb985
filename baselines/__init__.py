"""Published estimators, one per file; `BASELINES` and `OOD_BASELINES` have them by name.

Each name is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from submission import lazily

if TYPE_CHECKING:
    from baselines.accuracy.constant import Constant as Constant
    from baselines.contract.conformance import check_method as check_method
    from baselines.contract.estimator import Direct as Direct
    from baselines.contract.estimator import Estimator as Estimator
    from baselines.contract.estimator import Measured as Measured
    from baselines.contract.estimator import Regressed as Regressed
    from baselines.named import BASELINES as BASELINES
    from baselines.named import OOD_BASELINES as OOD_BASELINES

__getattr__ = lazily(
    __name__,
    {
        "BASELINES": "baselines.named",
        "OOD_BASELINES": "baselines.named",
        "Constant": "baselines.accuracy.constant",
        "Direct": "baselines.contract.estimator",
        "Estimator": "baselines.contract.estimator",
        "Measured": "baselines.contract.estimator",
        "Regressed": "baselines.contract.estimator",
        "check_method": "baselines.contract.conformance",
    },
)
