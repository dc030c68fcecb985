"""Taking a submission in, and publishing the leaderboard."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leaderboard.html import leaderboard_html
from leaderboard.ledger import Ledger
from leaderboard.methods import read_methods
from leaderboard.table import Standing, leaderboard_csv, standings
from leaderboard.teams import check_team
from submission.competition import Competition
from submission.errors import InvalidSubmission
from submission.files import write_text
from submission.metrics import Score, noise_floor
from submission.predictions import parse_predictions, read_bytes
from submission.scoring import SCORER, score_against, score_rows
from submission.solution import SolutionRow


@dataclass(frozen=True)
class Published:
    """What :func:`publish` wrote.

    Attributes:
        standings: the lines of the leaderboard, best first.
        warnings: one line for every file in ``submissions/`` that was left out.
        csv, html: the files.
    """

    standings: tuple[Standing, ...]
    warnings: tuple[str, ...]
    csv: Path
    html: Path


def submit(competition: Competition, path: Path, team: str, clock: Callable[[], datetime]) -> Score:
    """Validate and score a team's file, and enter it in the ledger. The public score, rounded.

    An invalid file is entered too, as invalid, and counts as a submission. The hidden labels are opened after
    the file was found valid.

    Args:
        competition: the organizer's copy.
        path: the submitted file.
        team: the team's name.
        clock: the time now, with its time zone.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: file, team or ledger cannot be used, or this is a participant's copy. Nothing is
            entered then.
    """
    team = check_team(team)
    ledger = Ledger(competition.require_private() / "ledger.sqlite")
    ids = competition.ids("test")
    digest = ""
    try:
        data = read_bytes(path, ids)
        digest = hashlib.sha256(data).hexdigest()
        predictions = parse_predictions(data, ids, str(path))
    except InvalidSubmission:
        ledger.append(clock(), team, digest, None, SCORER)
        raise
    scores = score_against(predictions, competition.solution())
    ledger.append(clock(), team, digest, scores, SCORER)
    return scores.public.rounded(competition.decimals)


def publish(competition: Competition) -> Published:
    """Write ``leaderboard.csv`` and ``leaderboard.html`` from the ledger and the kit's own methods.

    Both show scores on the public part only. The methods of ``submissions/`` stand there as unranked
    baselines; a file that is not valid (any more) is left out with a warning.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger is damaged.
    """
    solution = [row for row in competition.solution() if row.usage == "Public"]
    methods = read_methods(competition)
    baselines = {name: score_rows(found, solution) for name, found in methods.predictions.items()}
    rows = Ledger(competition.private / "ledger.sqlite").rows()
    lines = standings(rows, baselines, competition.decimals)
    floor = round(sampling_noise(competition, solution), competition.decimals)
    csv, html = competition.root / "leaderboard.csv", competition.root / "leaderboard.html"
    write_text(csv, leaderboard_csv(lines, floor, competition.decimals))
    write_text(html, leaderboard_html(competition, lines, floor))
    return Published(lines, methods.warnings, csv, html)


def sampling_noise(competition: Competition, rows: Sequence[SolutionRow]) -> float:
    """The noise floor of `rows`, in points: see :func:`submission.metrics.noise_floor`."""
    sizes = competition.sizes["test"]
    return noise_floor([row.prediction for row in rows], [sizes[row.set] for row in rows])
