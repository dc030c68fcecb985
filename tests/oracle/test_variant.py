"""The variant that SYP's authors released, against a forward pass written here from its description."""

import dataclasses
import math

import cv2
import numpy as np
import pytest
from scipy.special import erf, expit

from baselines.accuracy.entropy import entropies
from baselines.accuracy.fd import fd
from baselines.contract.conformance import example_meta_train, example_observation
from oracle import Syp, training
from oracle.variant import PARTS, parts_of

QUICK = {"iterations": 40, "batch_size": 50, "variant": "released"}
META = example_meta_train(sets=5)
TARGET, _ = example_observation("target", 300, 1.5, seed=77)


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def six(observation, source, repvgg):
    """The released indicators of each image, (n, 6), float64."""
    t = np.sort(entropies(source.observation))[source.correct.sum() - 1]
    surprise = entropies(observation)
    network = source.classifier
    rows = []
    for image, stats, h in zip(observation.images(), observation.image_stats, surprise, strict=True):
        tensor = (image.astype(np.float32) / 255 - np.float32(network.mean)) / np.float32(network.std)
        cast = (np.trunc(tensor).astype(int) % 256).astype(np.uint8).transpose(2, 0, 1)
        edges = cv2.Laplacian(np.ascontiguousarray(cast), cv2.CV_64F)
        atc = h / t if repvgg else t - h
        rows.append([h, atc, 0, np.sqrt(stats[0]), stats[1], edges.var() / 1e4])
    table = np.array(rows)
    table[:, 2] = fd(observation, source)
    return table


def mlp(weights, x):
    places = sorted({int(name.split(".")[1]) for name in weights})
    for i in places[:-1]:
        x = gelu(x @ weights[f"layers.{i}.weight"].T + weights[f"layers.{i}.bias"])
    return expit(x @ weights[f"layers.{places[-1]}.weight"].T + weights[f"layers.{places[-1]}.bias"])[:, 0]


def attention(weights, x):
    """One token: an embedding with GELU, and two blocks in which attention is the map of its values."""

    def linear(name, rows, part=slice(None)):
        return rows @ weights[f"{name}.weight"][part].T + weights[f"{name}.bias"][part]

    x = gelu(linear("embed", x))
    width = x.shape[1]
    for block in ("blocks.0", "blocks.2"):
        value = linear(f"{block}.qkv", x, slice(2 * width, None))
        x = x + linear(f"{block}.project", value)
        x = x + linear(f"{block}.mix.2", gelu(linear(f"{block}.mix.0", x)))
    return expit(linear("head", x))[:, 0]


FORWARD = {"Mlp": mlp, "Attention": attention}


def expected(oracle, meta, observation):
    source, repvgg = meta.source, meta.source.classifier.arch.startswith("repvgg")
    learnt = np.concatenate([six(each, source, repvgg) for each in meta.sets])
    rows = six(observation, source, repvgg)
    low, high = rows.min(axis=0), rows.max(axis=0)
    low[2], high[2] = learnt[:, 2].min(), learnt[:, 2].max()  # FD is one number a set
    rows = np.clip((rows - low) / (high - low), 0, 1)
    found = []
    for network in oracle.networks_:
        weights = {name: each.double().numpy() for name, each in network.state_dict().items()}
        found.append(FORWARD[type(network).__name__](weights, rows))
    return np.mean(found, axis=0)


def of_architecture(arch):
    """The made-up meta-train sets, of a classifier that calls itself so."""
    classifier = dataclasses.replace(META.source.classifier, arch=arch)
    return dataclasses.replace(META, source=dataclasses.replace(META.source, classifier=classifier))


@pytest.mark.parametrize("arch", ["small", "repvgg_a0"])
@pytest.mark.slow
def test_probabilities_are_those_of_the_description(arch):
    meta = of_architecture(arch)
    oracle = Syp(**QUICK).fit(meta)
    for observation in (TARGET, meta.sets[2]):
        probabilities = oracle.probabilities(observation)
        assert np.ptp(probabilities) > 1e-4
        np.testing.assert_allclose(probabilities, expected(oracle, meta, observation), rtol=0, atol=1e-6)


def test_parts_of_the_training():
    assert parts_of("paper") == frozenset()
    assert parts_of("released") == {*PARTS}
    assert Syp(variant="batches, scaling")._scaling() == "pooled"
    assert Syp(variant="scaling", normalisation="global")._scaling() == "global"


@pytest.mark.parametrize(
    ("arch", "given", "expected"),
    [
        ("small", {}, {"Mlp": (0.1, 1.0), "Attention": (0.1, 1.0)}),
        ("repvgg_a0", {}, {"Mlp": (0.1, 3.0), "Attention": (0.05, 3.0)}),
        ("small", {"positive_weight": 5.0}, {"Mlp": (0.1, 5.0), "Attention": (0.1, 5.0)}),
        ("repvgg_a0", {"learning_rate": 0.2}, {"Mlp": (0.2, 3.0), "Attention": (0.2, 3.0)}),
        ("repvgg_a0", {"variant": "paper"}, {"Mlp": (0.1, 3.0), "Attention": (0.1, 3.0)}),
        ("small", {"variant": "paper"}, {"Mlp": (0.1, 3.0), "Attention": (0.1, 3.0)}),
    ],
)
def test_rate_and_weight_of_the_released_training(arch, given, expected, monkeypatch):
    """Released: `evaluate_resnet.py` has a plain loss, `evaluate_repvgg.py` a rate of 0.05 for the transformer."""
    seen = {}

    def train(network, rows, correct, weights, batches, optimiser, rates):
        seen[type(network).__name__] = rates[0], 1.0 if weights is None else weights.max().item()
        released = given.get("variant") != "paper"
        power = 0.9 if released else 1.0
        free = released and arch == "repvgg_a0"
        assert [group["weight_decay"] for group in optimiser.param_groups] == [5e-4, 0.0 if free else 5e-4]
        assert rates[-1] == pytest.approx(rates[0] / len(rates) ** power)

    monkeypatch.setattr(training, "train", train)
    Syp(**{"variant": "released", "low_accuracy": 1.0, **given}).fit(of_architecture(arch))
    assert seen == expected
