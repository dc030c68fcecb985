"""Unlabelled sets: recipes and mixes, and their rendering."""
