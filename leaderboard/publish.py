"""Publishing the leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leaderboard.html import leaderboard_html
from leaderboard.ledger import Entry, Ledger
from leaderboard.methods import method_files, read_methods
from leaderboard.table import CONSTANT, FEW, Standing, leaderboard_csv, standings
from leaderboard.teams import plain
from leaderboard.versions import settle_interrupted
from submission.competition import Competition
from submission.files import write_text
from submission.metrics import noise_floor
from submission.scoring import score_rows
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


def publish(competition: Competition) -> Published:
    """Write ``leaderboard.csv`` and ``leaderboard.html`` from the ledger and the kit's own methods.

    Both show scores on the public part only. The methods of ``submissions/`` stand there as unranked
    baselines; a file that is not valid (any more) is left out with a warning.

    Where others submit meanwhile, both are written again: the last to write has seen the last submission.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger is damaged.
    """
    ledger = Ledger(competition.private / "ledger.sqlite")
    settle_interrupted(competition, ledger)
    for _ in range(3):  # without an end it could go on as long as others submit
        head = ledger.head()
        written = _write(competition, ledger)
        if ledger.head() == head:
            return written
    return written


def _write(competition: Competition, ledger: Ledger) -> Published:
    solution = [row for row in competition.solution() if row.usage == "Public"]
    methods = read_methods(competition)
    baselines = {name: score_rows(found, solution) for name, found in methods.predictions.items()}
    rows = ledger.entries()
    lines = standings(rows, baselines, competition.decimals)
    floor = round(sampling_noise(competition, solution), competition.decimals)
    csv, html = competition.root / "leaderboard.csv", competition.root / "leaderboard.html"
    write_text(csv, leaderboard_csv(lines, floor, competition.decimals))
    write_text(html, leaderboard_html(competition, lines, floor))
    warnings = (*_few(len(solution)), *_namesakes(rows, competition), *methods.warnings)
    return Published(lines, warnings, csv, html)


def sampling_noise(competition: Competition, rows: Sequence[SolutionRow]) -> float:
    """The noise floor of `rows`, in points: see :func:`submission.metrics.noise_floor`."""
    sizes = competition.sizes["test"]
    return noise_floor([row.prediction for row in rows], [sizes[row.set] for row in rows])


def baseline_names(competition: Competition) -> dict[str, str]:
    """The names of baselines, on the leaderboard or left out, by what they read like."""
    names = [CONSTANT, *(path.stem for path in method_files(competition))]
    return {plain(name): name for name in names}


def _namesakes(rows: Sequence[Entry], competition: Competition) -> list[str]:
    """Teams entered before a baseline of their name stood in ``submissions/``."""
    baselines = baseline_names(competition)
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
