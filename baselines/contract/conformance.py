"""The public conformance suite: what every method must keep, run by `unseen check-method`."""

import dataclasses
import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import folder_of, fractions_problem, told, undeclared
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
    from starter.classifiers import Classifier

CLASSES, FEATURES = 10, 16
VIEWS = {
    "rotations": ROTATED,
    "grey": ("grey",),
    "peers": (f"{PEER}other",),
    "referee": (f"{REFEREE}other",),
}
"""The views of the made-up observations, by what a method calls them in `needs`."""


@dataclass(frozen=True)
class Check:
    """One rule and what came of it: `problem` is empty where the method keeps it."""

    rule: str
    problem: str = ""

    def __str__(self) -> str:
        return f"FAIL {self.rule}: {self.problem}" if self.problem else f"ok   {self.rule}"


def example_observation(name: str, n: int, skill: float, seed: int) -> tuple[Observation, np.ndarray]:
    """Returns a made-up observation of n images, right more often for higher `skill`, and labels (n,)."""
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
        views={
            view: logits + rng.normal(size=logits.shape).astype(np.float32)
            for views in VIEWS.values()
            for view in views
        },
        referee_features=(features + rng.normal(size=features.shape)).astype(np.float16),
        render=images.copy,
    )
    return observation, labels


def example_classifier() -> "Classifier":
    """Returns an untrained network for the made-up images; the made-up logits are not its own."""
    import torch

    from starter.classifiers import Classifier
    from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, Small

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Small(CLASSES)
    return Classifier("example", "small", network, tuple(map(str, range(CLASSES))), SMALL_MEAN, SMALL_STD)


def example_meta_train(sets: int = 24, n: int = 60) -> MetaTrain:
    """Returns made-up meta-train sets whose accuracy runs from near chance to near 1."""
    reference, labels = example_observation("reference", 200, 3.0, seed=1)
    train_ref, _ = example_observation("train_ref", 200, 3.0, seed=2)
    head = np.random.default_rng(3).normal(size=(CLASSES, FEATURES))
    pairs = [example_observation(f"train_{i}", n, 4 * i / sets, seed=10 + i) for i in range(sets)]
    correct = [observation.predicted == truth for observation, truth in pairs]
    return MetaTrain(
        Source(reference, labels, train_ref, head, np.zeros(CLASSES), example_classifier()),
        [observation for observation, _ in pairs],
        np.array([right.mean() for right in correct]),
        correct,
        [frozenset({f"operation_{i % 6}"}) for i in range(sets)],
        labels=[truth for _, truth in pairs],
    )


def example_mix(name: str, n: int, gap: float, seed: int) -> tuple[ScoredMix, np.ndarray]:
    """Returns a made-up mix of n images whose OOD scores are `gap` higher, and which are OOD, bool (n,)."""
    seen, _ = example_observation(name, n, 2.0, seed)
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < rng.uniform(0.2, 0.8)
    return ScoredMix(seen, "msp", "fpr95", rng.normal(size=n) + gap * is_ood), is_ood


def example_mixes(sets: int = 24, n: int = 120) -> MetaTrain:
    """Returns made-up meta-train mixes, from OOD images that cannot be told to those that always can."""
    from starter.detectors.metrics import fpr

    plain = example_meta_train().source
    scores = np.random.default_rng(4).normal(size=len(plain.labels))
    pairs = [example_mix(f"train_{i}", n, 4 * i / sets, seed=10 + i) for i in range(sets)]
    return MetaTrain(
        dataclasses.replace(plain, scores=scores),
        [mix for mix, _ in pairs],
        np.array([fpr(mix.scores[~is_ood], mix.scores[is_ood]) for mix, is_ood in pairs]),
        (),
        [frozenset({f"family_{i % 6}"}) for i in range(sets)],
        [is_ood for _, is_ood in pairs],
    )


class Trial:
    """A method on made-up sets of a track: fitted once for all rules that do not ask for a fit of their own.

    Every rule gets its sets anew, so that a method that spoils them breaks the rule against that alone.
    """

    def __init__(self, method: Estimator, track: str) -> None:
        self.method = method
        self.track = track

    def meta(self) -> MetaTrain:
        """Returns what there is to learn from."""
        return example_mixes() if self.track == "ood" else example_meta_train()

    def targets(self) -> list[Seen]:
        """Returns five sets to predict."""
        examples: dict[str, Callable[[str, int, float, int], tuple[Seen, np.ndarray]]]
        examples = {"accuracy": example_observation, "ood": example_mix}
        return [examples[self.track](f"test_{i}", 40 + 5 * i, 0.7 * i, 100 + i)[0] for i in range(5)]

    @cached_property
    def fit(self) -> "Fit":
        """The method, fitted."""
        method, meta = clone(self.method), self.meta()
        before = _fingerprint([meta])
        returned = method.fit(meta)
        return Fit(method, returned is method, _fingerprint([meta]) != before)

    @cached_property
    def predictions(self) -> FloatArray:
        """What it predicts of the targets, the first time that it is asked."""
        return self.fit.method.predict(self.targets())


@dataclass(frozen=True)
class Fit:
    """A fitted method, whether `fit` returned it, and whether it changed what it learnt from."""

    method: Estimator
    returned_itself: bool
    changed_meta: bool


def check_method(method: Estimator, track: str = "accuracy") -> list[Check]:
    """Run every rule of the suite on fresh clones of `method`, with made-up observations of a track.

    An exception inside the method is that rule's problem, not an error of the suite.
    """
    trial = Trial(method, track)
    return [_run(rule, check, trial) for rule, check in RULES.items()]


Rule = Callable[[Trial], str]


def _run(rule: str, check: Rule, trial: Trial) -> Check:
    try:
        return Check(rule, check(trial))
    except (Exception, SystemExit) as error:
        method = trial.method
        return Check(rule, told(error, folder_of(type(method))) + undeclared(method, error))


def _fit_returns_self(trial: Trial) -> str:
    return "" if trial.fit.returned_itself else "fit must return self"


def _finite_fractions(trial: Trial) -> str:
    return fractions_problem(trial.predictions, len(trial.targets()))


def _one_set_at_a_time(trial: Trial) -> str:
    method, targets = trial.fit.method, trial.targets()
    together = method.predict(targets)
    alone = np.array([method.predict([target])[0] for target in reversed(targets)])[::-1]
    return _same(together, alone, "a set's prediction changes with the other sets it is predicted with")


def _order_of_images(trial: Trial) -> str:
    shuffled = [_permuted(target, seed) for seed, target in enumerate(trial.targets())]
    problem = "predictions change when a set's images are permuted"
    return _same(trial.predictions, trial.fit.method.predict(shuffled), problem, tolerance=1e-6)


def _inputs_unchanged(trial: Trial) -> str:
    if trial.fit.changed_meta:
        return "fit changes the meta-train sets it is given"
    targets = trial.targets()
    before = _fingerprint(targets)
    trial.fit.method.predict(targets)
    return "" if _fingerprint(targets) == before else "predict changes the observations it is given"


def _same_seed_same_numbers(trial: Trial) -> str:
    again = clone(trial.method).fit(trial.meta()).predict(trial.targets())
    return _same(trial.predictions, again, "two fits of the same parameters predict different numbers")


def _saved_and_loaded(trial: Trial) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "method.safetensors"
        trial.fit.method.save(file)
        loaded = clone(trial.method).load(file)
    again = loaded.predict(trial.targets())
    return _same(trial.predictions, again, "a method predicts something else once saved and loaded")


def _clone_keeps_parameters(trial: Trial) -> str:
    fresh = clone(trial.fit.method)
    if repr(fresh.get_params()) != repr(trial.fit.method.get_params()):
        return "clone loses parameters: store each constructor argument, unchanged, under its own name"
    try:
        fresh.predict(trial.targets())
    except ValueError:
        return ""
    return "a clone must not be fitted: predict before fit must raise ValueError"


def _needs_are_honest(trial: Trial) -> str:
    method = clone(trial.method)
    problem = "predictions depend on fields of an observation that neither `needs` nor `wants` names"
    bare = [target.only(method.reads) for target in trial.targets()]
    return _same(trial.predictions, method.fit(trial.meta().only(method.reads)).predict(bare), problem)


RULES: dict[str, Rule] = {
    "fit returns self": _fit_returns_self,
    "predictions are finite fractions": _finite_fractions,
    "one set at a time": _one_set_at_a_time,
    "the order of images does not matter": _order_of_images,
    "inputs stay unchanged": _inputs_unchanged,
    "same seed, same numbers": _same_seed_same_numbers,
    "save and load change nothing": _saved_and_loaded,
    "clone keeps parameters, not what was learnt": _clone_keeps_parameters,
    "needs names what is read": _needs_are_honest,
}


def _same(first: np.ndarray, second: np.ndarray, problem: str, tolerance: float = 0.0) -> str:
    difference = float(np.abs(first - second).max())
    return "" if difference <= tolerance else f"{problem} (by up to {difference:.3g})"


def _permuted(seen: Seen, seed: int) -> Seen:
    order = np.random.default_rng(seed).permutation(len(seen))
    if isinstance(seen, ScoredMix):
        scores = seen.scores[order]
        return dataclasses.replace(seen, observation=seen.observation.take(order), scores=scores)
    return seen.take(order)


def _fingerprint(values: object) -> str:
    """Returns a text that changes when any array inside does."""
    if isinstance(values, np.ndarray):
        return repr((values.shape, values.dtype.str, hashlib.sha256(values.tobytes()).hexdigest()))
    if dataclasses.is_dataclass(values):
        return repr([(f.name, _fingerprint(getattr(values, f.name))) for f in dataclasses.fields(values)])
    if isinstance(values, list):
        return repr([_fingerprint(value) for value in values])
    if isinstance(values, dict):
        return _fingerprint(list(values.values()))
    return repr(values) if isinstance(values, str | float | int | frozenset) else ""
