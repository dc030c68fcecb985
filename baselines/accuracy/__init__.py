"""Published estimators of a classifier's accuracy, one per file."""
