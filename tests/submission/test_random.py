"""Every stream draws what it has always drawn: keys are made here anew, from NumPy alone."""

import hashlib

import pytest
from numpy.random import Generator, Philox, SeedSequence

from submission import random

NUMBERED = {
    "VAL_SETS": 0,
    "TEST_SETS": 1,
    "SHARED": 7,
    "TRAIN_REF_IMAGES": 11,
    "PUBLIC": 13,
    "HELD_OUT": 17,
    "EPOCH": 1000,
    "BOOTSTRAP": 0,
}
HASHED = {
    "SELECTION": ((5, "sample"), '[5, "sample", "selection"]'),
    "MAGNITUDES": ((5, 0, "blur"), '[5, 0, "blur", "magnitudes"]'),
    "NOISE": ((5, 0, "blur", 2), '[5, 0, "blur", "noise", 2]'),
    "RECIPES": ((5, "train", 1), '[5, "train", 1]'),
    "MIX_IND": ((5,), '[5, "IND"]'),
    "MIX_OOD": ((5,), '[5, "OOD"]'),
    "MIX_ORDER": ((5,), '[5, "order"]'),
    "OOD_FAMILIES": ((5,), '[5, "ood families"]'),
    "OOD_IMAGES": ((5, "waves"), '[5, "ood images", "waves"]'),
    "MIXES": ((5, "val"), '[5, "mixes", "val"]'),
    "NOISE_FLOOR": ((5, "a/b"), '[5, "noise", "a/b"]'),
    "BASE_IMAGES": ((5, 2), '[5, "base images", 2]'),
    "REFEREE": ((5, "train_0001"), '[5, "referee", "train_0001"]'),
    "CAPTIONS": ((5, 3), '[5, "captions", 3]'),
    "PHOTOS": ((5,), '[5, "photos"]'),
    "CONTRASTIVE": ((5,), '[5, "contrastive"]'),
    "PROMPTS": ((5,), '[5, "prompts"]'),
    "GRID_IMAGES": ((5, "near"), '[5, "grid", "near"]'),
    "GRID_HALVES": ((5,), '[5, "grid halves"]'),
    "SANITY": ((5, "ind"), '[5, "sanity", "ind"]'),
    "FAILURE": ((0,), '[0, "failure"]'),
    "ZERO_SHOT": ((5,), '[5, "table 3"]'),
}
MIXED = ("GLYPHS", "SPLITS", "LIMITED", "CLASS_IMAGES", "LAID", "SYNIS", "GENERATED", "AUDIT")

RAW = [
    [3682763398030452460, 4970025929294398563],
    [16402332379804324531, 4847739210130843235],
    [259491006799949737, 4754966410622352325],
]


def draws(stream: Generator) -> list[float]:
    return stream.random(3).tolist()


@pytest.mark.parametrize("name", NUMBERED)
def test_a_numbered_stream_is_keyed_by_seed_and_number(name):
    stream = getattr(random, name)
    for seed, step in ((0, 0), (5, 0), (2**63, 12)):
        assert draws(stream(seed, step)) == draws(Generator(Philox(key=[seed, NUMBERED[name] + step])))
    assert draws(stream(5)) == draws(stream(5, 0))


@pytest.mark.parametrize("name", HASHED)
def test_a_worded_stream_is_keyed_by_the_hash_of_its_words(name):
    key, written = HASHED[name]
    digest = hashlib.sha256(written.encode()).digest()[:16]
    assert draws(getattr(random, name)(*key)) == draws(
        Generator(Philox(key=int.from_bytes(digest, "little")))
    )


@pytest.mark.parametrize("name", MIXED)
def test_a_mixed_stream_is_seeded_as_numpy_does(name):
    stream = getattr(random, name)
    assert draws(stream(5)) == draws(Generator(Philox(SeedSequence(5)))) == draws(Generator(Philox(5)))
    assert draws(stream(2**53 + 1)) == draws(Generator(Philox(2**53 + 1)))
    assert draws(stream(5, 1, 2**31)) == draws(Generator(Philox(SeedSequence([5, 1, 2**31]))))


def test_every_stream_is_pinned():
    made = {name for name in vars(random) if name.isupper()}
    assert made == {*NUMBERED, *HASHED, *MIXED}


def test_values_do_not_move():
    """Of each way to a key, numbers written down: NumPy promises that Philox's bits stay."""
    assert random.TRAIN_REF_IMAGES(0).bit_generator.random_raw(2).tolist() == RAW[0]
    assert random.MIX_ORDER(0).bit_generator.random_raw(2).tolist() == RAW[1]
    assert random.SPLITS(0).bit_generator.random_raw(2).tolist() == RAW[2]
