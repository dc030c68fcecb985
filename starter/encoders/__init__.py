"""Encoders of images and texts into one space: any pair of functions, open_clip's, and small ones of the kit."""

from starter.encoders.encoder import Encoder, EncoderPair, unit_rows

__all__ = ["Encoder", "EncoderPair", "unit_rows"]
