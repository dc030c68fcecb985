"""Published estimators of a classifier's accuracy, one a file."""
