"""The rehearsal of an export: runs of its scoring program on a good, a bad and an empty submission."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from leaderboard.export import export
from submission import Competition
from submission.solution import solution_of

Tried = tuple[str, str]
"""The name of a submission with the part on which it is scored, and the text that the platform would show."""
KAGGLE = (
    "import sys; sys.path.insert(0, sys.argv[1]); import metric, pandas as pd\n"
    "part = pd.read_csv(sys.argv[2])\n"
    "try: print('score:', metric.score(part, pd.read_csv(sys.argv[3]), 'id'))\n"
    "except metric.ParticipantVisibleError as error: print(error)\n"
    "except pd.errors.EmptyDataError: print('Kaggle refuses an empty file itself.')\n"
)
SECONDS = 600


def rehearse(competition: Competition, platform: str, start: datetime) -> list[Tried]:
    """Returns the texts that the platform would show for three submissions, on the public and private part.

    The export is written to a temporary folder, and its scoring program is run there by another Python, as
    the platform would. The good submission has the true values, which score 0; the bad one lacks a
    prediction; the empty one has no bytes.

    Args:
        competition: Organizer's copy of the competition.
        platform: Name of the platform, a key of `leaderboard.export.PLATFORMS`.
        start: As for `export`.

    Raises:
        UnusableInput: as `export`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = export(competition, platform, Path(folder) / platform, start)
        handed_in = Path(folder) / "handed-in"
        handed_in.mkdir()
        for name, data in submissions(competition).items():
            (handed_in / f"{name}.csv").write_bytes(data)
        files = sorted(handed_in.iterdir(), key=lambda path: list(submissions(competition)).index(path.stem))
        return [
            (f"{file.stem}, {part}", PROGRAMS[platform](out, part, file))
            for part in ("public", "private")
            for file in files
        ]


def submissions(competition: Competition) -> Mapping[str, bytes]:
    """Returns three submissions by name: "good" is perfect, "bad" lacks a number, "empty" has no bytes."""
    truth = {row.id: row.prediction for row in solution_of(competition)}
    ids = competition.ids("test")
    good = [(name, repr(truth.get(name, 0.5))) for name in ids]
    bad = [*good[:-1], (ids[-1], "")]
    return {"good": _csv(good), "bad": _csv(bad), "empty": b""}


def _csv(rows: list[tuple[str, str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("id", "prediction"), *rows])
    return stream.getvalue().encode()


def _score_program(program: Path, reference: Path, file: Path) -> str:
    """Returns the output of ``score.py``, run as Codabench does, followed by the file of scores, if any."""
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = Path(folder) / "input", Path(folder) / "output"
        (inputs / "res").mkdir(parents=True)
        outputs.mkdir()
        (inputs / "ref").symlink_to(reference)
        (inputs / "res" / file.name).write_bytes(file.read_bytes())
        shown = _run(program, "score.py", str(inputs), str(outputs))
        scores = outputs / "scores.json"
        return f"{shown}; {json.loads(scores.read_text())}" if scores.exists() else shown


def _codabench(out: Path, part: str, file: Path) -> str:
    unpacked = out.parent / "unpacked"
    reference = "reference_public" if part == "public" else "reference_final"
    with zipfile.ZipFile(out / "bundle.zip") as bundle:  # written a moment ago by this process
        for name in bundle.namelist():
            if name.split("/")[0] in ("scoring_program", reference):
                (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
                (unpacked / name).write_bytes(bundle.read(name))
    return _score_program(unpacked / "scoring_program", unpacked / reference, file)


def _datacv(out: Path, part: str, file: Path) -> str:
    host = out / "host"
    reference = "reference_public" if part == "public" else "reference_final"
    return _score_program(host / "scoring_program", host / reference, file)


def _kaggle(out: Path, part: str, file: Path) -> str:
    """Returns the output of the metric, run as Kaggle does: on the rows of one part, without `Usage`."""
    scored = out.parent / f"{part}.csv"
    with (out / "host/solution.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row.pop("Usage").casefold() == part]
    with scored.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return _run(out, "-c", KAGGLE, str(out / "host"), str(scored), str(file))


PROGRAMS: Mapping[str, Callable[[Path, str, Path], str]] = {
    "codabench": _codabench,
    "datacv": _datacv,
    "kaggle": _kaggle,
}
"""For each platform, the function that scores a file, given the export's folder, the part and the file."""


def _run(folder: Path, *arguments: str) -> str:
    """Returns the output of another Python in `folder`, on one line, with its exit code if that is not 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    shown = " | ".join(line.strip() for line in (done.stdout + done.stderr).strip().splitlines())
    return f"{shown} (exit code {done.returncode})" if done.returncode else shown
