"""The fits of an ablation, kept in ``DIR/ablation/runs``: each row's method by classifier and seed."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import fitted, guarded
from oracle.oracle import Oracle
from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.cluster import Cluster
from starter.observing.observation import MetaTrain, Seen
from starter.observing.sets import PublicSets
from submission import Competition
from submission.arrays import FloatArray
from submission.files import write_text
from submission.progress import progress

VERSION = 6
"""Version of the kept fits, to be raised when the same parameters give other predictions."""
TRAINING = ("train_threshold", "train_mean", "train_image")
"""Columns with an oracle's errors on the meta-train sets: see `Oracle.training_errors`."""


@dataclass(frozen=True)
class Run:
    """One fit: its predictions (v,), and of an oracle its errors on the meta-train sets in points."""

    predicted: FloatArray
    training: tuple[float, ...] = (math.nan,) * len(TRAINING)
    undertrained: str = ""


Job = tuple[str, str, Estimator, Path]
"""A fit to be made: of a classifier, for a row, by a method; and where it is kept."""
Runs = dict[tuple[str, str], list[Run]]
"""The runs of all seeds by (row, subject)."""


def fit_rows(
    competition: Competition,
    rows: Mapping[str, Estimator],
    seeds: int,
    device: str = "cpu",
    cluster: Cluster | None = None,
    part: str = "val",
) -> Runs:
    """Fit each method per classifier and seed to predict a part's sets, or read the fits that were kept."""
    needs = asked(rows.values(), competition)
    jobs = [
        (subject, label, each, _path(competition, subject, each, part))
        for subject in competition.subjects
        for label, method in rows.items()
        for each in _seeded(method, seeds)
    ]
    kept = {path: run for *_, path in jobs if (run := _read(path))}
    left = [job for job in jobs if job[-1] not in kept]
    if cluster and left:
        cluster.observe(competition, needs, ("train", part), device)
    for path, run in _fitted_all(competition, needs, device, left, part):
        write_text(path, json.dumps({**asdict(run), "predicted": run.predicted.tolist()}) + "\n")
        kept[path] = run
    runs = Runs()
    for subject, label, _, path in jobs:
        runs.setdefault((label, subject), []).append(kept[path])
    return runs


def _seeded(method: Estimator, seeds: int) -> list[Estimator]:
    """Returns a copy of the method for each seed, or the method alone if it has no seed."""
    if "seed" not in method.get_params():
        return [method]
    return [clone(method).set_params(seed=seed) for seed in range(seeds)]


def _fitted_all(
    competition: Competition, needs: tuple[str, ...], device: str, jobs: Sequence[Job], part: str
) -> Iterator[tuple[Path, Run]]:
    """Yield where each job's run is kept, and the run, classifier after classifier."""
    sets = PublicSets(competition)
    for name in dict.fromkeys(name for name, *_ in jobs):
        subject = ClassifierSubject.open(sets, name, needs, device)
        meta = subject.meta_train()
        observed = meta.sets if part == "train" else subject.observations(part)
        mine = [job for job in jobs if job[0] == name]
        for _, label, method, path in progress(mine, f"rows, {name}"):
            yield path, _fitted(label, method, name, meta, observed)


def _fitted(label: str, method: Estimator, subject: str, meta: MetaTrain, observed: Sequence[Seen]) -> Run:
    model = fitted(label, method, subject, meta)
    with guarded(label, f"predict for {subject}", model):
        found = Run(model.predict(observed))
    if isinstance(model, Oracle):
        training = tuple(100 * error for error in model.training_errors(meta).values())
        found = replace(found, training=training, undertrained=model.undertrained_)
    return found


def _path(competition: Competition, subject: str, method: Estimator, part: str) -> Path:
    """Returns where a run is kept, by a hash of everything on which its predictions depend."""
    parameters = sorted(method.get_params().items())
    described = [(name, getattr(value, "__qualname__", repr(value))) for name, value in parameters]
    text = repr((VERSION, type(method).__name__, described, subject, part, competition.files))
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    return competition.out / "ablation" / "runs" / f"{key}.json"


def _read(path: Path) -> Run | None:
    """Returns the run that an earlier ablation kept; None if there is none, or it is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Run(np.array(kept["predicted"]), tuple(kept["training"]), kept["undertrained"])
    except (OSError, ValueError, KeyError):
        return None
