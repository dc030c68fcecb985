"""Encoders of images and texts into one space: any two functions, open_clip's, and the kit's small ones."""

from starter.encoders.encoder import Encoder, EncoderPair, unit_rows
from starter.encoders.two_tower import TwoTowerEncoder

__all__ = ["Encoder", "EncoderPair", "TwoTowerEncoder", "unit_rows"]
