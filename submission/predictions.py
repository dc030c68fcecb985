"""Files of predictions (``id,prediction``) or of targets (``id,target``), and DataCV's ``answer.txt``."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from submission.errors import UnusableInput, printable
from submission.files import csv_text, read_head, read_text, write_text
from submission.parser import check_size, most_bytes, parse
from submission.table import cell, text_table

FOLDERS = {"test": "submissions", "val": "validation"}
"""Folders for the predictions of each part, inside the competition's folder."""
RUNS = "runs.csv"
"""The log of runs in the competition's folder; its column `files` is a JSON object {path: SHA-256}."""


def write_sample(path: Path, ids: Iterable[str]) -> None:
    """Write the sample submission, every id with the prediction 0.5, atomically."""
    write_predictions(path, dict.fromkeys(ids, 0.5))


def write_predictions(path: Path, values: Mapping[str, float], column: str = "prediction") -> None:
    """Write ``id,<column>`` lines in the order of `values`, atomically; reading gives the same floats."""
    rows = [(name, repr(float(value))) for name, value in values.items()]
    write_text(path, csv_text([("id", column), *rows]))


def write_answer(path: Path, values: Mapping[str, float]) -> None:
    """Write DataCV's form, six decimals a line in the order of `values`, atomically."""
    write_text(path, "".join(f"{value:.6f}\n" for value in values.values()))


def read_predictions(path: Path, ids: Sequence[str], column: str = "prediction") -> dict[str, float]:
    """Read a file of predictions: {id: fraction}, in the order of `ids`."""
    return parse(read_bytes(path, ids), ids, str(path), column)


def read_bytes(path: Path, ids: Sequence[str], follow: bool = True) -> bytes:
    """Returns the bytes of a file of predictions, which may not be too large, nor a link unless `follow`."""
    data = read_head(path, most_bytes(ids) + 1, follow)
    check_size(data, ids, str(path))
    return data


def runs_table(root: Path) -> str:
    """Returns the runs in `RUNS`, with what was set and the submission that each left, the best first."""
    path = root / RUNS
    if not path.is_file():
        raise UnusableInput(f"{path} is missing: `unseen predict` and `unseen report` write it")
    lines = list(csv.DictReader(io.StringIO(read_text(path))))
    writers = {name: row for row in lines for name in json.loads(row["files"])}  # of a file, the last run
    rows = [["method", "val RMSE", "time", "set", "wrote", "note"]]
    for row in sorted(lines, key=lambda row: float(row["score"] or "inf")):
        wrote = next((name for name, writer in writers.items() if writer is row), "")
        score = cell(float(row["score"] or "nan"))
        changed = shorten(row.get("set") or "", 60, placeholder=" ...")
        rows.append([row["method"], score, row["time"], changed, wrote, row["note"]])
    return text_table([[printable(text) for text in row] for row in rows], names=(0, 2, 3, 4, 5))


def predicted_files(root: Path) -> dict[str, dict[str, str]]:
    """Returns what `unseen predict` wrote below `root`, {path: {SHA-256: kind}}; only that may be shown."""
    found: dict[str, dict[str, str]] = {}
    path = root / RUNS
    for row in csv.DictReader(io.StringIO(read_text(path) if path.exists() else "")):
        for name, digest in json.loads(row.get("files") or "{}").items():
            found.setdefault(name, {})[digest] = row.get("kind") or "baseline"
    return found
