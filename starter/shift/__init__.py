"""Degrees of semantic and covariate shift: LAID, ruler, degrees and grid."""
