"""Syn-IS: images generated from label x style prompts, in the 8 x 8 grid of their degrees."""
