"""Running methods on a competition: fit on its meta-train sets, predict its validation and test sets."""

from collections.abc import Mapping
from pathlib import Path

from sklearn.base import clone

from baselines.estimator import Estimator
from starter.subject import PublicSets, Subject
from submission import Competition, make_id, write_predictions

FOLDERS = {"test": "submissions", "val": "validation"}
"""Where a method's predictions of each part go, below the competition's folder."""


def predict(
    competition: Competition, methods: Mapping[str, Estimator], device: str = "cpu", progress: bool = True
) -> dict[str, dict[str, Path]]:
    """Fit every method per subject and write ``submissions/<method>.csv`` and ``validation/<method>.csv``.

    A user's own ``module:Class`` is written as ``module.Class.csv``.

    Args:
        competition: an opened competition; nothing below ``private/`` is touched.
        methods: name -> prototype; each is cloned before it is fitted.
        device: where the classifiers run.
        progress: whether bars are shown.

    Returns:
        method -> {"test": file, "val": file}; "val" is missing where the competition has no such sets.
    """
    needs = tuple(sorted({need for method in methods.values() for need in method.needs}))
    values: dict[str, dict[str, dict[str, float]]] = {name: {"test": {}, "val": {}} for name in methods}
    sets = PublicSets(competition)
    for subject_name in competition.subjects:
        subject = Subject.open(sets, subject_name, needs, device)
        meta = subject.meta_train(progress)
        observed = {part: subject.observations(part, progress) for part in FOLDERS}
        for name, prototype in methods.items():
            method = clone(prototype).fit(meta)
            for part, observations in observed.items():
                ids = [make_id(subject_name, set_name) for set_name in competition.sets(part)]
                values[name][part].update(zip(ids, map(float, method.predict(observations)), strict=True))
    return {name: _write(competition, name, parts) for name, parts in values.items()}


def _write(
    competition: Competition, method: str, parts: Mapping[str, Mapping[str, float]]
) -> dict[str, Path]:
    paths = {}
    for part, predictions in parts.items():
        if predictions:
            paths[part] = competition.root / FOLDERS[part] / f"{method.replace(':', '.')}.csv"
            write_predictions(paths[part], predictions)
    return paths
