"""The named streams of random numbers on which sets, plans and scores depend.

`STREAM(seed, ...)` is a NumPy generator with Philox. For historical reasons there are three ways to make its
key: a number together with the seed, words hashed with the seed, or NumPy's own mixing of the seed. Numbers,
words and ways must never change, or old seeds would give other sets. Two streams with different numbers or
words give independent draws for the same seed; `mixed` streams differ by their seeds alone.
"""

import hashlib
import json
from functools import partial

from numpy.random import Generator, Philox, SeedSequence


def hashed(*key: int | str | None) -> Generator:
    """Returns a Philox generator with a key hashed from `key`; different keys give independent streams."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return Generator(Philox(key=int.from_bytes(digest[:16], "little")))


def mixed(*seeds: int) -> Generator:
    """Returns a Philox generator with a key that NumPy's SeedSequence mixes from `seeds`."""
    return Generator(Philox(SeedSequence(seeds)))


def numbered(number: int, seed: int, step: int = 0) -> Generator:
    """Returns the generator whose key is the seed and a number plus a step (an epoch, a count)."""
    return Generator(Philox(key=[seed, number + step]))


def worded(word: str, *key: int | str | None, at: int = 1) -> Generator:
    """Returns the generator whose key is hashed from `key`, with the word inserted after the first `at`."""
    return hashed(*key[:at], word, *key[at:])


# name = way to the key            # what is drawn: arguments
VAL_SETS = partial(numbered, 0)  # the plan of the validation sets: seed
TEST_SETS = partial(numbered, 1)  # the plan of the test sets: the secret seed
SHARED = partial(numbered, 7)  # families to validation and test: seed
TRAIN_REF_IMAGES = partial(numbered, 11)  # training images that methods get: seed
PUBLIC = partial(numbered, 13)  # sets whose score is public: the secret seed
EPOCH = partial(numbered, 1000)  # order, shifts and flips of a training's epoch: seed, epoch
BOOTSTRAP = partial(numbered, 0)  # families and signs of boards and reports: 0, or 0 and the families

SELECTION = partial(worded, "selection", at=2)  # a recipe's images of its base: seed, kind of selection
MAGNITUDES = partial(worded, "magnitudes", at=3)  # of an operation: seed, its place, its name
NOISE = partial(worded, "noise", at=3)  # of an operation's pixels: seed, its place, its name, chunk
RECIPES = hashed  # a recipe of a family: seed, prefix, number
MIX_IND = partial(worded, "IND")  # a mix's ID images: seed
MIX_OOD = partial(worded, "OOD")  # a mix's OOD images: seed
MIX_ORDER = partial(worded, "order")  # the order of a mix: seed
OOD_FAMILIES = partial(worded, "ood families")  # families to training, validation and test: seed
OOD_IMAGES = partial(worded, "ood images")  # images of an OOD set: seed, name
MIXES = partial(worded, "mixes")  # the plan of a part's mixes: seed, part
NOISE_FLOOR = partial(worded, "noise")  # labels of the noise floor: seed, row
BASE_IMAGES = partial(worded, "base images")  # the order in which test sets take base images: seed, round
CAPTIONS = partial(worded, "captions")  # the images that the embedded encoder learns from: seed, number
PHOTOS = partial(worded, "photos")  # photographs with styles: seed
CONTRASTIVE = partial(worded, "contrastive")  # batches of the embedded encoder: seed
PROMPTS = partial(worded, "prompts")  # sentences that LAID learns from: seed
GRID_IMAGES = partial(worded, "grid")  # shifted images of a grid: seed, source
GRID_HALVES = partial(worded, "grid halves")  # the ID images' halves: seed
SANITY = partial(worded, "sanity")  # images of the sanity table: seed, name
FAILURE = partial(worded, "failure")  # images of the failure study: 0
ZERO_SHOT = partial(worded, "table 3")  # images of LAID's table: seed

GLYPHS = mixed  # digits of a part or of a natural family, and sets without characters: seed, part or name
SPLITS = mixed  # parts and halves of labelled images: seed
LIMITED = mixed  # images of a folder with a limit: seed
CLASS_IMAGES = mixed  # images of a class: seed
LAID = mixed  # batches of LAID: seed
SYNIS = mixed  # prompts and noise of a cell: seed, semantic level, covariate level
GENERATED = mixed  # an image that the embedded generator draws: the prompt's seed
AUDIT = mixed  # the keys by which patches of images are hashed: 0
