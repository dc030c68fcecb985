"""The kit's own encoders, trained on the spot and kept in a file."""

from pathlib import Path

from starter.encoders.contrastive import train_encoder
from starter.encoders.glyphs import captioned_glyphs
from starter.encoders.two_tower import TwoTowerEncoder

IMAGES = 20_000


def embedded_encoder(path: Path | None = None, seed: int = 0, progress: bool = True) -> TwoTowerEncoder:
    """The encoder of the embedded glyphs: read from `path` if that exists, else trained and written there."""
    if path is not None and path.exists():
        return TwoTowerEncoder.load(path)
    encoder = train_encoder(captioned_glyphs(IMAGES, seed, progress), seed, progress=progress)
    if path is not None:
        encoder.save(path)
    return encoder
