"""Functions that fit methods on a competition and predict its sets, log runs, and verify entries."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock
from sklearn.base import clone

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import fitted, of_the_kit, predict_each
from starter.competition.cluster import Cluster, Work, subjects
from starter.observing.observation import MetaTrain, Seen
from starter.tracks.tracks import open_subjects
from submission import Competition, UnusableInput, score_validation, validate, write_predictions
from submission.files import read_text, sha256, write_text
from submission.predictions import RUNS

FOLDERS = {"test": "submissions", "val": "validation"}
"""Folders for the predictions of each part, inside the competition's folder."""
SEEDS = ("seed", "random_state")
MOST_BYTES = 1 << 26
TOLERANCE = 1e-4
"""Default tolerance as a fraction (0.01 points), above the rounding of answer.txt and of other machines."""
SHOWN = 20

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
    written: dict[str, dict[str, Path]] = {}
    for name, found in _predicted(competition, methods, needs, device, progress, cluster):
        files = {part: competition.root / FOLDERS[part] / file_name(name) for part in found if found[part]}
        for part, path in files.items():
            write_predictions(path, found[part])
        score = score_validation(competition, files["val"]).rmse if "val" in files else math.nan
        log_run(competition, name, methods[name], score, note, files.values())
        written[name] = files
    return {name: written[name] for name in methods}


def file_name(method: str) -> str:
    """Returns the name of the file for a method's predictions.

    >>> file_name("my_method:MyMethod"), file_name("Mano(normaliser='softmax')")
    ('my_method.MyMethod.csv', 'Mano(normaliser=_softmax_).csv')
    """
    return re.sub(r"[^\w.,=()+ -]", "_", method.replace(":", ".")) + ".csv"


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
    sent: dict[str, Estimator] = {}
    if cluster:
        cluster.observe(competition, needs, ("train", *parts), device)
        sent = {name: clone(method) for name, method in methods.items() if of_the_kit(type(method))}
        jobs = [(name, method, subject) for name, method in sent.items() for subject in competition.subjects]
        found: dict[str, dict[str, Parts]] = {name: {} for name in sent}
        for number, value in cluster.each(competition, needs, device, fitted_there, jobs, "predict"):
            name, _, subject = jobs[number]
            found[name][subject] = value
            if len(found[name]) == len(competition.subjects):
                yield name, _joined(found[name][each] for each in competition.subjects)
    if left := [name for name in methods if name not in sent]:
        observed = observe_parts(competition, needs, parts, device, progress)
        for name in left:
            yield name, predictions(name, methods[name], observed)


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
    found = []
    for subject, (meta, parts) in observed.items():
        method = fitted(name, prototype, subject, meta)
        found.append({part: predict_each(name, method, subject, sets) for part, sets in parts.items()})
    return _joined(found)


def _joined(subjects: Iterable[Parts]) -> Parts:
    """Returns the predictions of all subjects together."""
    joined: Parts = {}
    for parts in subjects:
        for part, values in parts.items():
            joined.setdefault(part, {}).update(values)
    return joined


def log_run(
    competition: Competition,
    name: str,
    method: Estimator,
    score: float,
    note: str = "",
    files: Iterable[Path] = (),
) -> None:
    """Add a line to ``runs.csv``, atomically, even if several processes write at the same time.

    Args:
        competition: Competition whose folder has the file.
        name: Name of the method in the run.
        method: The method; its parameters are written as JSON, and the seed also in a column of its own.
        score: RMSE in points on the validation sets; nan, which is written as "", without such sets.
        note: Remark of the user.
        files: Files of predictions that the run wrote, whose SHA-256 the line records.
    """
    path = competition.root / RUNS
    parameters = method.parameters()
    seeds = [value for key, value in parameters.items() if key.rpartition("__")[2] in SEEDS]
    row = {
        "time": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}",
        "method": name,
        "parameters": json.dumps(parameters, sort_keys=True, default=repr),
        "seed": " ".join(map(str, seeds)),
        "score": "" if math.isnan(score) else f"{score:.4f}",
        "note": " ".join(note.split()),
        "files": json.dumps({path.relative_to(competition.root).as_posix(): sha256(path) for path in files}),
    }
    with FileLock(path.with_name(f".{RUNS}.lock")):
        before = read_text(path, MOST_BYTES) if path.exists() else ",".join(row) + "\n"
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row.values())
        write_text(path, before + line.getvalue())


@dataclass(frozen=True)
class Verification:
    """The predictions in a submitted file, and those that the method gives now.

    Attributes:
        submitted, rerun: Predictions {id: fraction}, in the order of the ids.
        tolerance: Largest difference at which two predictions count as equal, a fraction.
    """

    submitted: Mapping[str, float]
    rerun: Mapping[str, float]
    tolerance: float

    @property
    def differing(self) -> dict[str, float]:
        """The differences above the tolerance by id, the largest first."""
        found = {name: abs(value - self.rerun[name]) for name, value in self.submitted.items()}
        apart = {name: gap for name, gap in found.items() if gap > self.tolerance}
        return dict(sorted(apart.items(), key=lambda each: -each[1]))

    def __str__(self) -> str:
        """Returns the result as text: one line, and the first 20 ids with different predictions."""
        if not (apart := self.differing):
            return f"verified: the method predicts all {len(self.rerun)} submitted numbers"
        most = f"by up to {max(apart.values()):.2g}, tolerance {self.tolerance:g}"
        lines = [f"not verified: {len(apart)} of {len(self.rerun)} predictions differ ({most})"]
        lines += [
            f"  {name}: {self.submitted[name]:.6f} submitted, {self.rerun[name]:.6f} now"
            for name in [*apart][:SHOWN]
        ]
        return "\n".join([*lines, *([f"  ... and {len(apart) - SHOWN} more"] if len(apart) > SHOWN else [])])


def verify_entry(
    competition: Competition,
    file: Path,
    name: str,
    method: Estimator,
    tolerance: float = TOLERANCE,
    device: str = "cpu",
    progress: bool = True,
) -> Verification:
    """Fit the method again, predict the test sets, and compare with a submitted file.

    Nothing below ``private/`` is opened. A method that draws random numbers needs a fixed seed.

    Args:
        competition: Organizer's or participant's copy of the competition.
        file: The submitted file, in any format that :func:`submission.validate` accepts.
        name: Name of the method on the command line.
        method: The prototype, which is cloned.
        tolerance: Largest difference at which two predictions count as equal, a fraction in [0, 1).
        device: Device that runs the classifiers.
        progress: True to show progress bars.
    """
    if not 0 <= tolerance < 1:
        raise UnusableInput(f"--tolerance must be a fraction, 0 or more and below 1, got {tolerance}")
    submitted = validate(competition, file)
    observed = observe_parts(competition, asked([method], competition), ("test",), device, progress)
    return Verification(submitted, predictions(name, method, observed)["test"], tolerance)
