"""The files that `unseen new-method` writes, complete methods for a participant to change."""
