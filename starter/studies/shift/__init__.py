"""Degrees of semantic and covariate shift: LAID, and the grid."""
