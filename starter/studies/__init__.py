"""What the detectors and estimators do: one study a file, with its tables and figures."""
