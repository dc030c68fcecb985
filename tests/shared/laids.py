"""An encoder that is a random projection of pixels, and random for each text, and a random LAID matrix of it."""

import numpy as np

from starter.models.encoders import EncoderPair
from starter.studies.shift.laid import Laid


def random_laid(length=16, seed=0):
    """Encoder and matrix; the same arguments give the same."""

    def project(images):
        pixels = images.reshape(len(images), -1) / 255 - 0.5
        return pixels @ np.random.default_rng(9).normal(size=(pixels.shape[1], length))

    matrix = np.linalg.qr(np.random.default_rng(seed).normal(size=(length, length)))[0]

    def read(texts):
        return np.stack([np.random.default_rng([*text.encode()]).normal(size=length) for text in texts])

    encoder = EncoderPair("projection", project, read)
    return encoder, Laid(matrix.astype(np.float32), "projection")


def encoder():
    """The encoder alone, as `--encoder laids:encoder` names it."""
    return random_laid()[0]
