"""The fits of an ablation: each row's method on each classifier with each seed.

They are kept in ``DIR/ablation/runs``, so that an interrupted ablation continues where it stopped, and tables
that share a fit make it once.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import clone
from tqdm import tqdm

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import guarded, predict_one
from oracle.ora_a import OraA
from oracle.ora_b import OraB
from oracle.oracle import CV, Oracle
from oracle.syp import Syp
from starter.competition.cluster import Cluster, Work, subjects
from starter.observing.observation import MetaTrain, Observation, Seen
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.sets import PublicSets
from submission import Competition
from submission.arrays import FloatArray
from submission.files import write_text

VERSION = 4
"""Version of the kept fits, to be raised when the same parameters give other predictions."""
TRAINING = ("train_threshold", "train_mean", "train_image")
"""Columns with an oracle's errors on the meta-train sets: see `Oracle.training_errors`."""


@dataclass(frozen=True)
class Run:
    """One fit: its predictions (v,), and its errors on the meta-train sets in points.

    The errors are nan if the method is no oracle; `undertrained` is set by oracles only.
    """

    predicted: FloatArray
    training: tuple[float, ...] = (math.nan,) * len(TRAINING)
    undertrained: str = ""


Runs = dict[tuple[str, str], list[Run]]
"""The runs of all seeds by (row, subject)."""
Fitted = dict[str, Estimator]
"""The fitted methods by the key of their run."""


def fit_rows(
    competition: Competition,
    rows: Mapping[str, Estimator],
    seeds: int,
    device: str = "cpu",
    progress: bool = True,
    cluster: Cluster | None = None,
) -> Runs:
    """Fit each method per classifier and seed, or read the fits that an earlier run has kept.

    Args:
        competition: Competition of the accuracy track, with validation sets.
        rows: Methods by the label of their row.
        seeds: Number of fits of each method that has a seed, with the seeds 0, 1, ...
        device: Device that runs the classifiers.
        progress: True to show progress bars.
        cluster: Cluster that observes and fits instead of this process.
    """
    needs = asked(rows.values(), competition)
    if cluster:
        cluster.observe(competition, needs, ("train", "val"), device, source=True)
        _fit_there(competition, rows, seeds, needs, device, cluster)
    sets, runs = PublicSets(competition), Runs()
    for name in competition.subjects:
        fitted: Fitted = {}
        subject = ClassifierSubject.open(sets, name, needs, device)
        meta, observed = subject.meta_train(progress), subject.observations("val", progress)
        for label, method in tqdm(rows.items(), f"rows, {name}", disable=None if progress else True):
            runs[label, name] = [
                _run(competition, name, label, each, meta, observed, fitted)
                for each in _seeded(method, seeds)
            ]
    return runs


def _seeded(method: Estimator, seeds: int) -> list[Estimator]:
    """Returns a copy of the method for each seed, or the method alone if it has no seed."""
    if "seed" not in method.get_params():
        return [method]
    return [clone(method).set_params(seed=seed) for seed in range(seeds)]


def _run(
    competition: Competition,
    subject: str,
    label: str,
    method: Estimator,
    meta: MetaTrain,
    observed: Sequence[Observation],
    fitted: Fitted,
) -> Run:
    """Returns one fit, read from disk if it was made before; a new fit of an oracle is added to `fitted`."""
    key = _key(method, subject, competition)
    found = _read(_path(competition, key), len(observed))
    if found is None:
        with guarded(label, f"fit for {subject}", method):
            model = _fit(method, subject, competition, meta, fitted)
        if isinstance(model, OraA):
            fitted[key] = model
        found = _tried(label, model, subject, meta, observed)
        _keep(_path(competition, key), found)
    return found


def _tried(label: str, model: Estimator, subject: str, meta: MetaTrain, observed: Sequence[Seen]) -> Run:
    """Returns what a fitted method predicts."""
    with guarded(label, f"predict for {subject}", model):
        found = Run(np.array([predict_one(model, observation) for observation in observed]))
    if isinstance(model, Oracle):
        errors = model.training_errors(meta)
        training = tuple(100 * error for error in errors.values())
        found = replace(found, training=training, undertrained=model.undertrained_)
    return found


def _fit_there(
    competition: Competition,
    rows: Mapping[str, Estimator],
    seeds: int,
    needs: tuple[str, ...],
    device: str,
    cluster: Cluster,
) -> None:
    """Have a cluster make each run that is not on disk yet, a task each; SYP trains both networks anew."""
    every = [
        (subject, label, clone(each))
        for subject in competition.subjects
        for label, method in rows.items()
        for each in _seeded(method, seeds)
    ]
    paths = [_path(competition, _key(each, subject, competition)) for subject, _, each in every]
    count = len(competition.sets("val"))
    left = [(job, path) for job, path in zip(every, paths, strict=True) if _read(path, count) is None]
    if not left:
        return
    jobs = [job for job, _ in left]
    for number, value in cluster.each(competition, needs, device, fitted_there, jobs, "ablate"):
        _keep(left[number][1], value)


def fitted_there(work: Work, subject: str, label: str, method: Estimator) -> Run:
    """Returns one fit, made on a worker of a cluster."""
    chosen = subjects(work)[subject]
    meta, observed = chosen.meta_train(progress=False), chosen.observations("val", progress=False)
    with guarded(label, f"fit for {subject}", method):
        model = clone(method).fit(meta)
    return _tried(label, model, subject, meta, observed)


def _path(competition: Competition, key: str) -> Path:
    """Returns where a run is kept."""
    return competition.root / "ablation" / "runs" / f"{key}.json"


def _keep(path: Path, run: Run) -> None:
    kept = {"predicted": run.predicted.tolist(), "training": [*run.training]}
    write_text(path, json.dumps({**kept, "undertrained": run.undertrained}) + "\n")


def _fit(
    method: Estimator, subject: str, competition: Competition, meta: MetaTrain, fitted: Fitted
) -> Estimator:
    """Returns the fitted method; SYP is joined from its two networks if both were trained already."""
    if isinstance(method, Syp) and CV not in method.get_params().values():
        first, second = (fitted.get(_key(each, subject, competition)) for each in method.members())
        if isinstance(first, OraA) and isinstance(second, OraB):
            return clone(method).join(first, second)
    return clone(method).fit(meta)


def _key(method: Estimator, subject: str, competition: Competition) -> str:
    """Returns a hash of everything on which a fit's predictions depend."""
    described = repr((VERSION, type(method).__name__, _described(method), subject, competition.files))
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def _described(method: Estimator) -> list[tuple[str, str]]:
    """Returns the parameters of a method as text; a function is given by its name."""
    return [
        (name, getattr(value, "__qualname__", repr(value)))
        for name, value in sorted(method.get_params().items())
    ]


def _read(path: Path, count: int) -> Run | None:
    """Returns the run that an earlier ablation kept; None if there is none, or it is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        predicted, training = np.array(kept["predicted"], np.float64), tuple(map(float, kept["training"]))
        run = Run(predicted, training, str(kept.get("undertrained", "")))  # fits of before do not say
    except (OSError, ValueError, TypeError, KeyError):
        return None
    whole = run.predicted.shape == (count,) and len(run.training) == len(TRAINING)
    return run if whole and np.isfinite(run.predicted).all() else None
