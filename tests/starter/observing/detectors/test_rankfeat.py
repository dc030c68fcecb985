"""RankFeat finds where to change the maps in every architecture, and says so where it cannot."""

import numpy as np
import pytest
import torch
from torch import nn

from starter.models.classifiers import Classifier, new_network
from starter.observing.detectors.rankfeat import RankFeat, without_rank_one
from starter.observing.observation import Observation, Source
from submission.errors import UnusableInput

CLASSES = tuple("abc")
IMAGES = np.random.default_rng(0).integers(256, size=(3, 32, 32, 3), dtype=np.uint8)


def of(arch, images=IMAGES):
    """A source and an observation of an untrained network."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = new_network(arch, len(CLASSES))
    classifier = Classifier("c", "a", network, CLASSES, (0.5,) * 3, (0.25,) * 3)
    logits, features = (each.numpy() for each in classifier(images))
    seen = Observation("s", "c", logits, features=features, render=lambda: images)
    weights = classifier.head_weight, classifier.head_bias
    return classifier, Source(seen, np.zeros(len(images), np.int64), seen, *weights, classifier), seen


def pooled(network, maps):
    return network.head(maps.mean(dim=(2, 3)))


REST = {
    "small": lambda network, maps: network.blocks[3](maps),
    "resnet18": lambda network, maps: network.layer4(maps),
    "repvgg_a0": lambda network, maps: network.stage4(maps),
    "densenet121": lambda network, maps: network.norm5(
        network.blocks[3](network.transitions[2](maps))
    ).relu(),
    "dla34": lambda network, maps: network.trees[3](maps, network.pool(maps)),
}
"""From the maps of the last stage but one to the last."""


@pytest.mark.parametrize("arch", REST)
@pytest.mark.slow
def test_the_last_two_stages_are_changed_one_at_a_time(arch):
    classifier, source, seen = of(arch)
    network = classifier.network
    with torch.no_grad():
        before, last = network.stages(classifier.normalised(IMAGES))[-2:]
        logits = pooled(network, REST[arch](network, without_rank_one(before)))
        logits = (logits + pooled(network, without_rank_one(last))) / 2
    expected = -torch.logsumexp(logits, dim=1)
    np.testing.assert_allclose(RankFeat().fit(source).score(seen), expected, rtol=1e-4, atol=1e-5)


def test_stages_of_one_position_are_passed_over():
    """VGG-16 ends in maps of one pixel, so its third and fourth poolings are changed."""
    classifier, source, seen = of("vgg16")
    places = RankFeat().fit(source).places_
    pools = [layer for layer in classifier.deployed.layers if isinstance(layer, nn.MaxPool2d)]
    assert places == pools[2:4]
    assert np.isfinite(RankFeat().fit(source).score(seen)).all()


def test_stages_that_cannot_be_changed_are_refused():
    _, source, _ = of("small", IMAGES[:, :1, :1].copy())
    with pytest.raises(UnusableInput, match="more than one position"):
        RankFeat().fit(source)
