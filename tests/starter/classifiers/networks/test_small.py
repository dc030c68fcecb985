"""Training decides its weights by the seed alone."""

import torch

from starter.classifiers.networks.small import train_small
from starter.sources.glyphs.digits import natural_set


def test_training_is_decided_by_its_seed_and_leaves_the_global_generator_alone() -> None:
    train = natural_set("stix", 250, 0, "few")
    before = torch.random.get_rng_state()
    first, again, other = (train_small(train, 10, seed, progress=False).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["fc.weight"], other["fc.weight"])
