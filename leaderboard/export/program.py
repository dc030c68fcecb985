"""The scorer of an exported competition, its reference data, and texts of exports."""

import json
from datetime import datetime
from pathlib import Path

from leaderboard.solutions import counting_solution
from submission import Competition, card, errors, parser
from submission.files import csv_text, write_bytes

Files = dict[str, bytes]
"""The bytes of files by their path, with "/" between folders."""
REFERENCES = {"Public": "reference_public", "Private": "reference_final"}
"""The folder with the hidden labels of each part."""


def scorer(competition: Competition) -> bytes:
    """Returns `leaderboard.export.scorer` as one file, with the kit's parser and the competition's ids."""
    modules = [Path(str(module.__file__)) for module in (errors, parser)]
    texts = [path.read_text(encoding="utf-8") for path in (*modules, Path(__file__).with_name("scorer.py"))]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("from submission.")]
    program = "\n".join(lines) + "\n"
    ids = json.dumps(competition.ids("test"), indent=0)
    program = program.replace("\nIDS: list[str] = []\n", f"\nIDS: list[str] = {ids}\n")
    return program.replace("\nDECIMALS = 1\n", f"\nDECIMALS = {competition.decimals}\n").encode()


def scoring_files(competition: Competition) -> Files:
    """Returns the scorer as a program, and the hidden labels of both parts that it reads."""
    files = {
        "scoring_program/metadata.yaml": b"command: python3 score.py\n",
        "scoring_program/score.py": scorer(competition),
    }
    solution = counting_solution(competition)
    for usage, folder in REFERENCES.items():
        rows = [(row.id, repr(row.prediction)) for row in solution if row.usage == usage]
        files[f"{folder}/targets.csv"] = csv_text([("id", "target"), *rows]).encode()
    return files


def write_private(folder: Path, files: Files) -> None:
    """Write files that their owner alone can read, into a folder that is the owner's too."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name, data in files.items():
        write_bytes(folder / name, data, private=True)


def filled(name: str, competition: Competition, **times: datetime) -> bytes:
    """Returns the text of the file `name` in ``templates/``, as UTF-8."""
    return card.filled(Path(__file__).with_name("templates") / name, competition, **times).encode()
