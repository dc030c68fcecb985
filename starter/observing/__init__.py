"""Observations: what a method may see of an unlabelled set, and how it is computed and cached."""
