"""The part of an audit about the board: how accurately published scores reveal the public labels."""

import csv
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from leaderboard.board.attack import Told, solve
from leaderboard.board.feedback import Listening, together
from leaderboard.board.part import Part
from leaderboard.board.results import read_methods
from leaderboard.board.shown import shown
from leaderboard.board.told import on_board
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Ledger
from submission.arrays import FloatArray, IntArray
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.price import price_text
from submission.solution import solution_of
from submission.told import KEPT
from submission.tracks import TRACKS


@dataclass(frozen=True)
class BoardAudit:
    """The numbers published so far, and the error in points with which the labels can be inferred from them.

    Attributes:
        rows: Number of public rows.
        prior: Error of the labels before any number was published.
        kit: Number of published scores of the kit's baselines, and the error of the labels given these.
        teams: The team, or teams with similar names, with the smallest error: names, number of scores, and
            error.
        everybody: Number of all scores, and the error for somebody who knows all of them.
        price: Lines of text about the scores that the limits still allow.
    """

    rows: int
    prior: float
    kit: tuple[int, float]
    teams: tuple[str, int, float] | None
    everybody: tuple[int, float]
    price: str

    @property
    def sound(self) -> bool:
        """True if the baselines' scores alone leave at least `KEPT` of the error."""
        return self.kit[1] >= KEPT * self.prior

    def __str__(self) -> str:
        lines = [
            f"{self.rows} public rows, whose labels anybody can guess with an RMSE of {self.prior:.1f} "
            "points; RMSE after the numbers published so far:",
            f"  the board alone     {self.kit[1]:.1f} points, after {self.kit[0]} numbers",
        ]
        if self.teams is not None:
            names, numbers, left = self.teams
            lines.append(f"  best-informed team  {left:.1f} points, after {numbers} numbers ({names})")
        lines.append(
            f"  all teams together  {self.everybody[1]:.1f} points, after {self.everybody[0]} numbers"
        )
        return "\n".join([*lines, self.price])


def audit_board(competition: Competition, now: datetime) -> BoardAudit:
    """Returns how accurately the labels can be inferred from the board and from answers to submissions.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger, the solution or the record of the build is
            damaged.
    """
    ledger, known = Ledger(competition.require_private() / "ledger.sqlite"), shown(competition)
    listening = Listening.of(competition, ledger, known)
    hidden, entries = listening.hidden, [each for each in ledger.entries() if each.status == "scored"]
    predictions, _ = kept_table(competition, ledger, entries)
    groups = []
    for made in together(entries):
        names, heard = sorted({entry.team for entry in made}), listening.told(made, predictions)[1]
        groups.append((", ".join(names), heard.told, hidden.left(heard)))
    everybody = listening.hear_all(entries, predictions)
    kit = on_board(competition, hidden, known)[1]
    return BoardAudit(
        rows=len(hidden.newest.part),
        prior=hidden.error,
        kit=(kit.told, hidden.left(kit)),
        teams=min(groups, key=lambda group: group[2], default=None),
        everybody=(everybody.told, hidden.left(everybody)),
        price=price_text(competition, hidden.error, now),
    )


@dataclass(frozen=True)
class Attacked:
    """The result of the integer programme on the board; `BoardAudit` is the measure of safety.

    Attributes:
        told: Knowledge of the attacker.
        found: Number of public rows that it names correctly; None if no solution was found in time.
        error: RMSE of its labels, in points.
        before: RMSE of the guess without the programme, in points.
        seconds: Time that it took, in seconds.
    """

    told: Told
    found: int | None
    error: float
    before: float
    seconds: float

    @property
    def sound(self) -> bool:
        """True if the attack leaves at least `KEPT` of the labels' error."""
        return self.error >= KEPT * self.before

    def __str__(self) -> str:
        if not len(self.told.rmse):
            return "attack: impossible, since the board shows no baseline"
        metrics = "RMSE" if self.told.mae is None else "RMSE and MAE"
        seen = f"attack on {len(self.told.rmse)} baselines, {metrics} to {self.told.step:g}"
        if self.found is None:
            return f"{seen}: no solution found in {self.seconds:.0f} s, which proves nothing"
        chance = self.told.public**2 / len(self.told.sets)
        return (
            f"{seen}: {self.found} of {self.told.public} public rows found ({chance:.0f} by chance), RMSE of "
            f"the labels {self.error:.1f} points ({self.before:.1f} without the attack), {self.seconds:.0f} s"
        )


def attack_board(competition: Competition, seconds: float) -> Attacked:
    """Attack ``leaderboard.csv`` with everything that participants know, and return the result.

    Args:
        competition: Organizer's copy of the competition.
        seconds: Time limit in seconds.

    Raises:
        UnusableInput: this is a participant's copy, or there is no board.
    """
    competition.require_private()
    public = Part.of(competition, solution_of(competition), "Public")
    return attacked(competition, public, read_board(competition, len(public)), seconds)


def attacked(competition: Competition, public: Part, told: Told, seconds: float) -> Attacked:
    """Returns the result of `solve`, compared with the labels of the public part."""
    if not len(told.rmse):
        return Attacked(told, None, 0.0, 0.0, 0.0)
    rows = _ranked(competition)
    place = np.searchsorted(rows, public.columns)
    start = time.monotonic()
    found = solve(told, seconds)
    took = time.monotonic() - start
    before = _rmse(told.guess[place] - 100 * public.targets)
    if found is None:
        return Attacked(told, None, before, before, took)
    error = _rmse(found[1][place] - 100 * public.targets)
    return Attacked(told, int(found[0][place].sum()), error, before, took)


def read_board(competition: Competition, public: int) -> Told:
    """Returns the knowledge of a participant who reads ``leaderboard.csv`` and reproduces the baselines.

    Args:
        competition: Organizer's copy of the competition.
        public: Number of public rows.

    Raises:
        UnusableInput: there is no such file.
    """
    path = competition.root / "leaderboard.csv"
    if not path.is_file():
        raise UnusableInput(f"{path} is missing: run `unseen leaderboard {competition.root}` first")
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [line for line in csv.DictReader(stream) if line.get("Kind") == "baseline"]
    methods = read_methods(competition).predictions
    lines = [line for line in lines if line["TeamName"] in methods]
    has_mae = bool(lines) and all(line.get("MAE") for line in lines)
    scores = {name: [line[name] for line in lines] for name in ("Score", *(["MAE"] if has_mae else []))}
    decimals = max((len(text.partition(".")[2]) for texts in scores.values() for text in texts), default=0)
    return told_of(
        competition,
        [methods[line["TeamName"]] for line in lines],
        np.array(scores["Score"], dtype=float),
        np.array(scores["MAE"], dtype=float) if has_mae else None,
        10.0**-decimals,
        public,
    )


def told_of(
    competition: Competition,
    methods: Sequence[Mapping[str, float]],
    rmse: FloatArray,
    mae: FloatArray | None,
    step: float,
    public: int,
) -> Told:
    """Returns the knowledge of somebody with the scores (k,) and predictions of k methods.

    The arguments are those of `Told`.
    """
    ids = [competition.ids("test")[row] for row in _ranked(competition)]
    names = [competition.set_of(name) for name in ids]
    sizes = np.array([competition.sizes["test"][name] for name in names])
    fractions = np.array([[found[name] for name in ids] for found in methods])
    return Told(
        predictions=100 * fractions.reshape(-1, len(ids)),
        rmse=rmse,
        mae=mae,
        step=step,
        public=public,
        sets=np.unique(names, return_inverse=True)[1],
        images=None if TRACKS[competition.track].deviations else sizes,
    )


def _ranked(competition: Competition) -> IntArray:
    """Returns the places of the ranking metric's ids among the ids of the test sets (n,)."""
    ids = competition.ids("test")
    ranked = set(competition.by_metric(ids)[competition.metrics[0]])
    return np.array([place for place, name in enumerate(ids) if name in ranked])


def _rmse(errors: FloatArray) -> float:
    return math.sqrt(float(np.mean(errors**2)))
