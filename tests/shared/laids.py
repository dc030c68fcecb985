"""An encoder that is no more than a random projection of pixels, and a random LAID matrix of it."""

import numpy as np

from starter.models.encoders import EncoderPair
from starter.studies.shift.laid import Laid


def random_laid(length=16, seed=0):
    """Encoder and matrix; the same arguments give the same."""

    def project(images):
        pixels = images.reshape(len(images), -1) / 255 - 0.5
        return pixels @ np.random.default_rng(9).normal(size=(pixels.shape[1], length))

    matrix = np.linalg.qr(np.random.default_rng(seed).normal(size=(length, length)))[0]
    encoder = EncoderPair("projection", project, lambda texts: np.ones((len(texts), length)))
    return encoder, Laid(matrix.astype(np.float32), "projection")


def encoder():
    """The encoder alone, as `--encoder laids:encoder` names it."""
    return random_laid()[0]
