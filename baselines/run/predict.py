"""Functions that fit methods on a competition and predict its sets, log runs, and verify entries."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pandas as pd
from filelock import FileLock

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import fitted, predict_each
from baselines.run.tabular import described
from starter.contest.cluster import Cluster
from starter.contest.tracks import open_subjects
from starter.observing.observation import MetaTrain, Seen
from submission import Competition
from submission.files import csv_text, read_text, sha256, write_text
from submission.predictions import FOLDERS, RUNS, write_predictions
from submission.progress import progress
from submission.scoretable import score_validation
from submission.scoring import validate

KIT = ("baselines.accuracy.", "baselines.contract.", "baselines.ood.", "oracle.")
"""Where the classes of the kit's methods are; any other method is "yours"."""
MOST_BYTES = 1 << 26
TOLERANCE = 1e-4
"""Largest difference of equal predictions, a fraction, above the rounding of answer.txt and of machines."""

Sets = tuple[MetaTrain, Mapping[str, Sequence[Seen]]]
"""The meta-train sets, and the sets of each part."""


def predict(
    competition: Competition,
    methods: Mapping[str, Estimator],
    device: str = "cpu",
    cluster: Cluster | None = None,
    note: str = "",
) -> dict[str, dict[str, Path]]:
    """Fit every method per subject, and write its predictions when they are complete, and a line in `RUNS`.

    Returns {"test": file, "val": file} of each method, without "val" if there are no validation sets.
    """
    needs = asked(methods.values(), competition)
    parts = tuple(FOLDERS)
    if cluster:
        cluster.observe(competition, needs, ("train", *parts), device)
    observed = observe_parts(competition, needs, parts, device)
    written: dict[str, dict[str, Path]] = {}
    for name, method in progress(methods.items(), "fit and predict", unit="methods"):
        found = predictions(name, method, observed)
        files = {part: competition.out / FOLDERS[part] / file_name(name) for part in found if found[part]}
        for part, path in files.items():
            write_predictions(path, found[part])
        score = score_validation(competition, files["val"]).rmse if "val" in files else math.nan
        log_run(competition, name, method, score, note=note, files=files.values())
        written[name] = files
    return written


def file_name(method: str) -> str:
    """Returns the name of the file for a method's predictions: ``my.MyMethod.csv`` of ``my.py:MyMethod``."""
    return re.sub(r"[^\w.,=()+ -]", "_", method.replace(".py:", ":").replace(":", ".")) + ".csv"


def observe_parts(
    competition: Competition, needs: tuple[str, ...], parts: Sequence[str], device: str = "cpu"
) -> dict[str, Sets]:
    """Returns for each subject its meta-train sets and the sets of `parts`, observed with `needs`."""
    observed: dict[str, Sets] = {}
    for name, subject in open_subjects(competition, needs, device).items():
        meta = subject.meta_train()
        observed[name] = meta, {part: subject.observations(part) for part in parts}
    return observed


def predictions(name: str, prototype: Estimator, observed: Mapping[str, Sets]) -> dict[str, dict[str, float]]:
    """Returns the predictions of each part by id; the method gets one set at a time."""
    found: dict[str, dict[str, float]] = {}
    for subject, (meta, parts) in observed.items():
        method = fitted(name, prototype, subject, meta)
        for part, sets in parts.items():
            found.setdefault(part, {}).update(predict_each(name, method, subject, sets))
    return found


def log_run(
    competition: Competition,
    name: str,
    method: Estimator,
    score: float,
    note: str = "",
    files: Iterable[Path] = (),
) -> None:
    """Add a line to ``runs.csv``, atomically, even if several processes write at the same time."""
    path = competition.out / RUNS
    kind = "baseline" if type(method).__module__.startswith(KIT) else "yours"
    row = {
        "time": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}",
        "method": name,
        "parameters": json.dumps(method.parameters(), sort_keys=True, default=repr),
        "score": "" if math.isnan(score) else f"{score:.4f}",
        "note": " ".join(note.split()),
        "files": json.dumps({path.relative_to(competition.out).as_posix(): sha256(path) for path in files}),
        "kind": kind,
        "set": described(method) if kind == "yours" else "",
    }
    with FileLock(path.with_name(f".{RUNS}.lock")):
        before = read_text(path, MOST_BYTES) if path.exists() else ",".join(row) + "\n"
        write_text(path, before + csv_text([row.values()]))


def verify_entry(
    competition: Competition, file: Path, name: str, method: Estimator, device: str = "cpu"
) -> pd.DataFrame:
    """Returns what the method, fitted again, predicts otherwise than a file, by id, most different first."""
    submitted = validate(competition, file)
    observed = observe_parts(competition, asked([method], competition), ("test",), device)
    found = pd.DataFrame({"submitted": submitted, "now": predictions(name, method, observed)["test"]})
    found["difference"] = (found.submitted - found.now).abs()
    apart = found[found.difference > TOLERANCE]
    return apart.sort_values("difference", ascending=False, kind="stable")
