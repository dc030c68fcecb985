"""Functions that fit methods on a competition's meta-train sets and predict its validation and test sets."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sklearn.base import clone

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import fitted, of_the_kit, predict_each, unchanged
from baselines.run.log import log_run
from starter.competition.cluster import Cluster, Work, subjects
from starter.observing.observation import MetaTrain, Seen
from starter.tracks.tracks import open_subjects
from submission import Competition, score_validation, write_predictions

FOLDERS = {"test": "submissions", "val": "validation"}
"""Folders for the predictions of each part, inside the competition's folder."""

Sets = tuple[MetaTrain, Mapping[str, Sequence[Seen]]]
"""The meta-train sets, and the sets of each part."""
Parts = dict[str, dict[str, float]]
"""The predictions of each part by id."""


def predict(
    competition: Competition,
    methods: Mapping[str, Estimator],
    device: str = "cpu",
    progress: bool = True,
    cluster: Cluster | None = None,
    note: str = "",
) -> dict[str, dict[str, Path]]:
    """Fit every method per subject and write ``submissions/<method>.csv`` and ``validation/<method>.csv``.

    The file of a user's ``module:Class`` is ``module.Class.csv``. A method's files are written when its
    predictions are complete. If a method fails, the files of earlier methods exist, and it has none.

    Args:
        competition: An opened competition. Nothing below ``private/`` is read. ``runs.csv`` records the
            hashes of the files, so that the leaderboard recognises them.
        methods: Prototypes by name; each is cloned before it is fitted.
        device: Device that runs the classifiers.
        progress: True to show progress bars.
        cluster: Cluster that observes the sets and fits the kit's methods in place of this process; the
            predictions are the same. A user's own methods are fitted here, since no code is sent to workers.
        note: Remark for ``runs.csv``, which gets a line for each method.

    Returns:
        For each method, {"test": file, "val": file}; "val" is missing if there are no validation sets.
    """
    needs = asked(methods.values(), competition)
    written = {}
    for name, found in _predicted(competition, methods, needs, device, progress, cluster):
        written[name] = _write(competition, name, found)
        on_val = written[name].get("val")
        score = score_validation(competition, on_val).rmse if on_val else math.nan
        log_run(competition, name, methods[name], score, note, written[name].values())
    return {name: written[name] for name in methods}


def _predicted(
    competition: Competition,
    methods: Mapping[str, Estimator],
    needs: tuple[str, ...],
    device: str,
    progress: bool,
    cluster: Cluster | None,
) -> Iterator[tuple[str, Parts]]:
    """Yield each method's predictions when it is done, the kit's first where a cluster fits them."""
    parts = tuple(FOLDERS)
    if cluster:
        cluster.observe(competition, needs, ("train", *parts), device, source=True)
    sent = [name for name, method in methods.items() if cluster and of_the_kit(type(method))]
    if cluster and sent:
        yield from _sent({name: methods[name] for name in sent}, competition, needs, device, cluster)
    if left := {name: method for name, method in methods.items() if name not in sent}:
        observed = observe_parts(competition, needs, parts, device, progress)
        for name, prototype in left.items():
            yield name, predictions(name, prototype, observed)


def _sent(
    methods: Mapping[str, Estimator],
    competition: Competition,
    needs: tuple[str, ...],
    device: str,
    cluster: Cluster,
) -> Iterator[tuple[str, Parts]]:
    """Yield each method's predictions when all its subjects are done, one task of the cluster each."""
    sent = {name: clone(method) for name, method in methods.items()}  # without what one may have learnt
    jobs = [(name, method, subject) for name, method in sent.items() for subject in competition.subjects]
    found: dict[str, dict[str, Parts]] = {name: {} for name in methods}
    for number, value in cluster.each(competition, needs, device, fitted_there, jobs, "predict"):
        name, _, subject = jobs[number]
        found[name][subject] = value
        if len(found[name]) == len(competition.subjects):
            inorder = [found[name][each] for each in competition.subjects]
            yield name, {part: {k: v for each in inorder for k, v in each[part].items()} for part in FOLDERS}


def fitted_there(work: Work, name: str, prototype: Estimator, subject: str) -> Parts:
    """Returns the predictions of a method for one subject, on a worker of a cluster."""
    chosen = subjects(work)[subject]
    sets = {part: chosen.observations(part, progress=False) for part in FOLDERS}
    return predictions(name, prototype, {subject: (chosen.meta_train(progress=False), sets)})


def observe_parts(
    competition: Competition,
    needs: tuple[str, ...],
    parts: Sequence[str],
    device: str = "cpu",
    progress: bool = True,
) -> dict[str, Sets]:
    """Returns for each subject its meta-train sets and the sets of `parts`, observed with `needs`."""
    observed: dict[str, Sets] = {}
    for name, subject in open_subjects(competition, needs, device).items():
        meta = subject.meta_train(progress)
        observed[name] = meta, {part: subject.observations(part, progress) for part in parts}
    return observed


def predictions(name: str, prototype: Estimator, observed: Mapping[str, Sets]) -> Parts:
    """Returns the predictions of each part by id; the method gets one set at a time."""
    values: Parts = {part: {} for _, parts in observed.values() for part in parts}
    for subject, (meta, parts) in observed.items():
        with unchanged(name, prototype, meta):
            method = fitted(name, prototype, subject, meta)
            for part, sets in parts.items():
                values[part] |= predict_each(name, method, subject, sets)
    return values


def file_name(method: str) -> str:
    """Returns the name of the file for a method's predictions.

    >>> file_name("my_method:MyMethod"), file_name("Mano(normaliser='softmax')")
    ('my_method.MyMethod.csv', 'Mano(normaliser=_softmax_).csv')
    """
    return re.sub(r"[^\w.,=()+ -]", "_", method.replace(":", ".")) + ".csv"


def _write(
    competition: Competition, method: str, parts: Mapping[str, Mapping[str, float]]
) -> dict[str, Path]:
    paths = {}
    for part, predictions in parts.items():
        if predictions:
            paths[part] = competition.root / FOLDERS[part] / file_name(method)
            write_predictions(paths[part], predictions)
    return paths
