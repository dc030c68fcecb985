"""Syn-IS: images generated from prompts, label x style, in an 8 x 8 grid by their shift degrees."""
