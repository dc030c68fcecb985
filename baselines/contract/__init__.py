"""The contract of estimators: base classes, families, regressors, saving, and the conformance suite."""

from baselines.contract.conformance import check_method
from baselines.contract.estimator import Direct, Estimator, Measured, Regressed

__all__ = ["Direct", "Estimator", "Measured", "Regressed", "check_method"]
