"""Encoders of images, and of images and texts: user's functions, pretrained ones, the kit's small ones.

Each name is imported on first use.
"""

from typing import TYPE_CHECKING

from submission.lazy import lazily

if TYPE_CHECKING:
    from starter.encoders.encoder import Encoder as Encoder
    from starter.encoders.encoder import EncoderPair as EncoderPair
    from starter.encoders.encoder import ImageEncoder as ImageEncoder
    from starter.encoders.encoder import ImageFunction as ImageFunction
    from starter.encoders.encoder import unit_rows as unit_rows
    from starter.encoders.two_tower import TwoTowerEncoder as TwoTowerEncoder

__getattr__ = lazily(
    __name__,
    {
        "Encoder": "starter.encoders.encoder",
        "EncoderPair": "starter.encoders.encoder",
        "ImageEncoder": "starter.encoders.encoder",
        "ImageFunction": "starter.encoders.encoder",
        "TwoTowerEncoder": "starter.encoders.two_tower",
        "unit_rows": "starter.encoders.encoder",
    },
)
