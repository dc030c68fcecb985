"""Embedded images: handwritten and typeset digits, signs, backdrops."""
