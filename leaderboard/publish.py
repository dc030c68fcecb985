"""Taking a submission in, and publishing the leaderboard."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leaderboard.html import leaderboard_html
from leaderboard.ledger import Entry, Ledger
from leaderboard.methods import method_files, read_methods
from leaderboard.table import CONSTANT, FEW, Standing, leaderboard_csv, published, standings
from leaderboard.teams import check_team, plain
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.files import write_text
from submission.metrics import Score
from submission.predictions import read_bytes
from submission.scoring import SCORER, parse_submission, score_against, score_rows
from submission.solution import SolutionRow


@dataclass(frozen=True)
class Published:
    """What :func:`publish` wrote.

    Attributes:
        standings: the lines of the leaderboard, best first.
        warnings: for the organizer, a line each: too few public predictions, teams that have a baseline's
            name, files in ``submissions/`` that were left out.
        csv, html: the files.
    """

    standings: tuple[Standing, ...]
    warnings: tuple[str, ...]
    csv: Path
    html: Path


def submit(competition: Competition, path: Path, team: str, clock: Callable[[], datetime]) -> Score:
    """Validate and score a team's file, and enter it in the ledger. The public score, as it is published.

    An invalid file is entered too, as invalid, and counts as a submission. The hidden labels are opened after
    the file was found valid.

    Args:
        competition: the organizer's copy.
        path: the submitted file.
        team: the team's name; that of a baseline, a file in ``submissions/``, is refused.
        clock: the time now, with its time zone.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: file, team or ledger cannot be used, or this is a participant's copy. Nothing is
            entered then.
    """
    team = check_team(team)
    baseline = _baselines(competition).get(plain(team))
    if baseline:
        raise UnusableInput(f"team name {team!r} reads like the baseline {baseline!r}: take another")
    ledger = Ledger(competition.require_private() / "ledger.sqlite")
    ids = competition.ids("test")
    digest = ""
    try:
        data = read_bytes(path, ids)
        digest = hashlib.sha256(data).hexdigest()
        predictions = parse_submission(competition, data, path)
    except InvalidSubmission:
        ledger.append(clock(), team, digest, None, SCORER)
        raise
    scores = score_against(predictions, competition.solution())
    ledger.append(clock(), team, digest, scores, SCORER)
    return published(scores.public, competition.decimals)


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
    warnings = (*_few(len(solution)), *_namesakes(rows, competition), *methods.warnings)
    return Published(lines, warnings, csv, html)


def sampling_noise(competition: Competition, rows: Sequence[SolutionRow]) -> float:
    """The noise floor of `rows`, in points: see :meth:`submission.Competition.noise_floor`."""
    return competition.noise_floor("test", {row.id: row.prediction for row in rows})


def _baselines(competition: Competition) -> dict[str, str]:
    """The names of baselines, on the leaderboard or left out, by what they read like."""
    names = [CONSTANT, *(path.stem for path in method_files(competition))]
    return {plain(name): name for name in names}


def _namesakes(rows: Sequence[Entry], competition: Competition) -> list[str]:
    """Teams entered before a baseline of their name stood in ``submissions/``."""
    baselines = _baselines(competition)
    return [
        f"team {team!r} reads like the baseline {baselines[plain(team)]!r}: rename that file in submissions/"
        for team in dict.fromkeys(row.team for row in rows)
        if plain(team) in baselines
    ]


def _few(public: int) -> list[str]:
    if public >= FEW:
        return []
    return [
        f"the public score rests on {public} predictions: a few submissions tell their labels; "
        f"build with more test sets (MAE and Spearman are published from {FEW} on)"
    ]
