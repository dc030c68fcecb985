"""Every stream draws what it has always drawn: keys are made here anew, from NumPy alone."""

import hashlib

import pytest
from numpy.random import Generator, Philox, SeedSequence

from submission import random

NUMBERED = {"VAL_SETS": 0, "TEST_SETS": 1, "SHARED": 7, "TRAIN_REF_IMAGES": 11, "PUBLIC": 13}
NUMBERED |= {"EPOCH": 1000, "BOOTSTRAP": 0}
WORDS = {"MIX_IND": "IND", "MIX_OOD": "OOD", "MIX_ORDER": "order", "OOD_FAMILIES": "ood families"}
WORDS |= {"PHOTOS": "photos", "CONTRASTIVE": "contrastive", "PROMPTS": "prompts"}
WORDS |= {"GRID_HALVES": "grid halves", "ZERO_SHOT": "table 3"}
HASHED = {
    **{name: ((5,), f'[5, "{word}"]') for name, word in WORDS.items()},
    "SELECTION": ((5, "sample"), '[5, "sample", "selection"]'),
    "MAGNITUDES": ((5, 0, "blur"), '[5, 0, "blur", "magnitudes"]'),
    "NOISE": ((5, 0, "blur", 2), '[5, 0, "blur", "noise", 2]'),
    "RECIPES": ((5, "train", 1), '[5, "train", 1]'),
    "OOD_IMAGES": ((5, "waves"), '[5, "ood images", "waves"]'),
    "MIXES": ((5, "val"), '[5, "mixes", "val"]'),
    "NOISE_FLOOR": ((5, "a/b"), '[5, "noise", "a/b"]'),
    "BASE_IMAGES": ((5, 2), '[5, "base images", 2]'),
    "CAPTIONS": ((5, 3), '[5, "captions", 3]'),
    "GRID_IMAGES": ((5, "near"), '[5, "grid", "near"]'),
    "SANITY": ((5, "ind"), '[5, "sanity", "ind"]'),
    "FAILURE": ((0,), '[0, "failure"]'),
}
MIXED = ("GLYPHS", "SPLITS", "LIMITED", "CLASS_IMAGES", "LAID", "SYNIS", "GENERATED", "AUDIT")


@pytest.mark.parametrize("name", [*NUMBERED, *HASHED, *MIXED])
def test_a_stream_is_keyed_as_it_has_always_been(name):
    if name in NUMBERED:
        key, philox = (2**63, 12), Philox(key=[2**63, NUMBERED[name] + 12])
    elif name in HASHED:
        key, written = HASHED[name]
        philox = Philox(key=int.from_bytes(hashlib.sha256(written.encode()).digest()[:16], "little"))
    else:
        key = (5, 1, 2**31)
        philox = Philox(SeedSequence(key))
    assert getattr(random, name)(*key).random(3).tolist() == Generator(philox).random(3).tolist()


def test_every_stream_is_pinned_and_no_value_moves():
    """Of each way to a key, numbers written down: NumPy promises that Philox's bits stay."""
    assert {name for name in vars(random) if name.isupper()} == {*NUMBERED, *HASHED, *MIXED}
    raw = {
        "TRAIN_REF_IMAGES": [3682763398030452460, 4970025929294398563],
        "MIX_ORDER": [16402332379804324531, 4847739210130843235],
        "SPLITS": [259491006799949737, 4754966410622352325],
    }
    found = {name: getattr(random, name)(0).bit_generator.random_raw(2).tolist() for name in raw}
    assert found == raw
