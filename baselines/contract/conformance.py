"""The public conformance suite: the rules of the contract, checked by `unseen check-method`."""

import dataclasses
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import folder_of, told
from starter.observing.observation import (
    IMAGE_STATS,
    PEER,
    REFEREE,
    ROTATED,
    MetaTrain,
    Moments,
    Observation,
    ScoredMix,
    Seen,
    Source,
)
from submission.arrays import FloatArray

if TYPE_CHECKING:
    from starter.models.classifiers import Classifier

CLASSES, FEATURES = 10, 16
VIEWS = (*ROTATED, "grey", f"{PEER}other", f"{REFEREE}other")


@dataclass(frozen=True)
class Check:
    """The result of checking one rule."""

    rule: str
    problem: str = ""  # the violation; "" if the method keeps the rule
    error: BaseException | None = None  # what the method raised

    def __str__(self) -> str:
        return f"FAIL {self.rule}: {self.problem}" if self.problem else f"ok   {self.rule}"


def example_observation(name: str, n: int, skill: float, seed: int) -> tuple[Observation, np.ndarray]:
    """Returns an artificial observation of n images, more accurate for higher `skill`, and labels (n,)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=n)
    logits = rng.normal(size=(n, CLASSES)).astype(np.float32)
    logits[np.arange(n), labels] += np.float32(skill)
    features = rng.normal(skill, 1, (n, FEATURES))
    images = rng.integers(256, size=(n, 8, 8, 3)).astype(np.uint8)
    observation = Observation(
        name,
        "example",
        logits,
        moments=Moments(features.mean(axis=0), np.cov(features, rowvar=False), n),
        features=features.astype(np.float16),
        image_stats=rng.random((n, len(IMAGE_STATS))).astype(np.float32),
        rotation=rng.binomial(4, min(0.2 + skill / 6, 1.0), n).astype(np.float32) / 4,
        views={view: logits + rng.normal(size=logits.shape).astype(np.float32) for view in VIEWS},
        referee_features=(features + rng.normal(size=features.shape)).astype(np.float16),
        render=images.copy,
    )
    return observation, labels


def example_classifier() -> "Classifier":
    """Returns an untrained network for the artificial images; it did not produce the artificial logits."""
    import torch

    from starter.models.classifiers import Classifier
    from starter.models.classifiers.networks.small import SMALL_MEAN, SMALL_STD, Small

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Small(CLASSES)
    return Classifier(
        name="example",
        arch="small",
        network=network,
        classes=tuple(map(str, range(CLASSES))),
        mean=SMALL_MEAN,
        std=SMALL_STD,
    )


def example_meta_train(sets: int = 24, n: int = 60) -> MetaTrain:
    """Returns artificial meta-train sets with accuracies from near chance to near 1."""
    reference, labels = example_observation("reference", 200, 3.0, seed=1)
    train_ref, _ = example_observation("train_ref", 200, 3.0, seed=2)
    head = np.random.default_rng(3).normal(size=(CLASSES, FEATURES))
    pairs = [example_observation(f"train_{i}", n, 4 * i / sets, seed=10 + i) for i in range(sets)]
    correct = [observation.predicted == truth for observation, truth in pairs]
    return MetaTrain(
        source=Source(
            reference,
            labels,
            train_ref,
            head_weight=head,
            head_bias=np.zeros(CLASSES),
            classifier=example_classifier(),
        ),
        sets=[observation for observation, _ in pairs],
        targets=np.array([right.mean() for right in correct]),
        correct=correct,
        families=[frozenset({f"operation_{i % 6}"}) for i in range(sets)],
        labels=[truth for _, truth in pairs],
    )


def example_mix(name: str, n: int, gap: float, seed: int) -> tuple[ScoredMix, np.ndarray]:
    """Returns an artificial mix of n images, OOD scores `gap` above IND, and True (n,) for OOD images."""
    seen, _ = example_observation(name, n, 2.0, seed)
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < rng.uniform(0.2, 0.8)
    return ScoredMix(seen, "msp", "fpr95", rng.normal(size=n) + gap * is_ood), is_ood


def example_mixes() -> MetaTrain:
    """Returns artificial meta-train mixes, from indistinguishable OOD images to perfectly detected ones."""
    from starter.observing.detectors.metrics import fpr

    plain = example_meta_train().source
    scores = np.random.default_rng(4).normal(size=len(plain.labels))
    pairs = [example_mix(f"train_{i}", 120, i / 6, seed=10 + i) for i in range(24)]
    return MetaTrain(
        source=dataclasses.replace(plain, scores=scores),
        sets=[mix for mix, _ in pairs],
        targets=np.array([fpr(mix.scores[~is_ood], mix.scores[is_ood]) for mix, is_ood in pairs]),
        correct=(),
        families=[frozenset({f"family_{i % 6}"}) for i in range(24)],
        ood=[is_ood for _, is_ood in pairs],
    )


class Trial:
    """A method on artificial sets of a track, fitted once; every rule gets new sets, which it may change."""

    def __init__(self, method: Estimator, track: str) -> None:
        self.method = method
        self.track = track

    def targets(self) -> list[Seen]:
        """Returns five sets for which to predict."""
        examples: dict[str, Callable[[str, int, float, int], tuple[Seen, np.ndarray]]]
        examples = {"accuracy": example_observation, "ood": example_mix}
        return [examples[self.track](f"test_{i}", 40 + 5 * i, 0.7 * i, 100 + i)[0] for i in range(5)]

    def run(self) -> tuple[Estimator, FloatArray, bool]:
        """Returns the fitted method, its predictions (5,), and True if it left everything as it was."""
        method, meta = clone(self.method), example_mixes() if self.track == "ood" else example_meta_train()
        targets = self.targets()
        before = fingerprint([meta, targets])
        predictions = method.fit(meta).predict(targets)
        return method, predictions, fingerprint([meta, targets]) == before

    @cached_property
    def first(self) -> tuple[Estimator, FloatArray, bool]:
        """The result of the first `run`."""
        return self.run()


def check_method(method: Estimator, track: str = "accuracy") -> Iterator[Check]:
    """Yields a `Check` of each rule, an exception being a violation; only the first if it cannot predict."""
    trial = Trial(method, track)
    for rule, check in RULES.items():
        try:
            yield Check(rule, check(trial))
        except (Exception, SystemExit) as error:
            yield Check(rule, told(error, folder_of(type(method))), error)
            if rule == CAN_PREDICT:
                return


def _can_predict(trial: Trial) -> str:
    _ = trial.first  # it raises what is wrong
    return ""


def _no_random_draw(trial: Trial) -> str:
    method, predictions, _ = trial.first
    problem = (
        "two predictions of the same sets differ: does a network lack eval(), or is there a random draw?"
    )
    return _same(predictions, method.predict(trial.targets()), problem)


def _one_set_at_a_time(trial: Trial) -> str:
    method, together, _ = trial.first
    alone = np.array([method.predict([target])[0] for target in reversed(trial.targets())])[::-1]
    return _same(together, alone, "the prediction for a set depends on the sets predicted with it")


def _order_of_images(trial: Trial) -> str:
    method, predictions, _ = trial.first
    shuffled = [_permuted(target, seed) for seed, target in enumerate(trial.targets())]
    problem = "predictions depend on the order of a set's images"
    return _same(predictions, method.predict(shuffled), problem, tolerance=1e-6)


def _saved_and_loaded(trial: Trial) -> str:
    method, predictions, _ = trial.first
    with tempfile.TemporaryDirectory() as folder:
        first, second = (Path(folder) / f"{name}.safetensors" for name in ("first", "second"))
        method.save(first)
        clone(trial.method).load(first).save(second)
        loaded = clone(trial.method).load(second)
    try:
        again = loaded.predict(trial.targets())
    except AttributeError as error:
        if error.obj is not loaded or error.name not in vars(method):
            raise
        return (
            f"`save` writes attributes that end in _, and self.{error.name} does not: name it {error.name}_"
        )
    return _same(predictions, again, "predictions differ after save and load")


CAN_PREDICT = "fit and predict give finite fractions"
RULES: dict[str, Callable[[Trial], str]] = {
    CAN_PREDICT: _can_predict,
    "the same sets, the same numbers": _no_random_draw,
    "one set at a time": _one_set_at_a_time,
    "the order of images does not matter": _order_of_images,
    "inputs stay unchanged": lambda trial: (
        "" if trial.first[2] else "the method changes the sets, the source or the targets: copy them first"
    ),
    "same seed, same numbers": lambda trial: _same(
        trial.first[1], trial.run()[1], "two fits of the same parameters predict different numbers"
    ),
    "save and load change nothing": _saved_and_loaded,
}
"""The rules of the contract that `Estimator` does not keep by itself; each returns a violation, or ""."""


def fingerprint(values: object) -> str:
    """Returns a text that changes if any array or weight of a network inside the values changes."""
    if isinstance(values, np.ndarray):
        return repr((values.shape, values.dtype.str, hashlib.sha256(values.tobytes()).hexdigest()))
    if hasattr(values, "state_dict"):
        return fingerprint([weights.cpu().numpy() for weights in values.state_dict().values()])
    if dataclasses.is_dataclass(values):
        return repr([(f.name, fingerprint(getattr(values, f.name))) for f in dataclasses.fields(values)])
    if isinstance(values, list):
        return repr([found for value in values if (found := fingerprint(value))])
    if isinstance(values, dict):
        return fingerprint(list(values.values()))
    return repr(values) if isinstance(values, str | float | int | frozenset) else ""


def _same(first: np.ndarray, second: np.ndarray, problem: str, tolerance: float = 0.0) -> str:
    difference = float(np.abs(first - second).max())
    return "" if difference <= tolerance else f"{problem} (by up to {difference:.3g})"


def _permuted(seen: Seen, seed: int) -> Seen:
    order = np.random.default_rng(seed).permutation(len(seen))
    if isinstance(seen, ScoredMix):
        scores = seen.scores[order]
        return dataclasses.replace(seen, observation=seen.observation.take(order), scores=scores)
    return seen.take(order)
