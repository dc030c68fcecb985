"""The contract of estimators: base classes, families, regressors, saving, and the conformance suite."""
