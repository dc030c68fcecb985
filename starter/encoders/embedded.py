"""The kit's own encoders of the embedded glyphs and of photographs, trained on demand and kept in a file."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from starter.encoders.captions import Captioned, captioned_glyphs, captioned_photos
from starter.encoders.two_tower import EPOCHS, WIDTHS, TwoTowerEncoder, train_encoder
from starter.images.imageset import ImageSet

IMAGES = 24_000
QUICK_IMAGES, QUICK_EPOCHS = 8_000, (2, 3)
"""Numbers of images and epochs for a referee's encoder, which need not separate meaning and style."""
PHOTO_EPOCHS, PHOTO_WIDTHS = (2, 10), (32, 64, 128, 128)


def embedded_encoder(path: Path | None = None, seed: int = 0, progress: bool = True) -> TwoTowerEncoder:
    """Returns the encoder of the embedded glyphs, read from `path` if it exists, else trained and written.

    Raises:
        UnusableInput: the file is not an encoder.
    """
    shown = partial(captioned_glyphs, IMAGES, seed, progress)
    return _kept(path, shown, seed, EPOCHS, WIDTHS, progress)


def quick_encoder(path: Path | None = None, seed: int = 0, progress: bool = True) -> TwoTowerEncoder:
    """Returns an encoder of fewer embedded glyphs, read or trained like `embedded_encoder`, in seconds.

    Raises:
        UnusableInput: the file is not an encoder.
    """
    shown = partial(captioned_glyphs, QUICK_IMAGES, seed, progress)
    return _kept(path, shown, seed, QUICK_EPOCHS, WIDTHS, progress)


def photo_encoder(
    sets: Sequence[tuple[ImageSet, Sequence[str]]],
    path: Path | None = None,
    seed: int = 0,
    progress: bool = True,
) -> TwoTowerEncoder:
    """Returns an encoder of labelled photographs, read or trained like `embedded_encoder`.

    Args:
        sets: Training images of one size, and the names of their classes in label order.
        path: File of the encoder; use different files for different sets.
        seed: Seed of all random numbers.
        progress: True to show progress bars.

    Raises:
        UnusableInput: the file is not an encoder, or the images differ in size.
    """
    shown = partial(captioned_photos, sets, seed, progress)
    return _kept(path, shown, seed, PHOTO_EPOCHS, PHOTO_WIDTHS, progress)


def _kept(
    path: Path | None,
    shown: Callable[[], Captioned],
    seed: int,
    epochs: tuple[int, int],
    widths: Sequence[int],
    progress: bool,
) -> TwoTowerEncoder:
    if path is not None and path.exists():
        return TwoTowerEncoder.load(path)
    encoder = train_encoder(shown(), seed, epochs, widths, progress)
    if path is not None:
        encoder.save(path)
    return encoder
