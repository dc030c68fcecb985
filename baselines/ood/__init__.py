"""Published estimators of an OOD detector's performance, one a file."""
