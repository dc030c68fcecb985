"""The embedded encoder, one that has hardly learnt anything, and the images it was trained on."""

from functools import cache

import numpy as np

from starter.models.encoders.captions import captioned_glyphs
from starter.models.encoders.choose import load_encoder
from starter.models.encoders.two_tower import LENGTH, train_encoder
from starter.studies.shift.laid import Laid


@cache
def few_glyphs():
    """250 captioned glyphs."""
    return captioned_glyphs(250, 0)


@cache
def hasty_encoder():
    """One pass over them."""
    return train_encoder(few_glyphs(), epochs=(0, 1))


def whole_laid():
    """A matrix for the embedded encoder that leaves its features as they are."""
    return Laid(np.eye(LENGTH, dtype=np.float32), load_encoder("embedded").name)
