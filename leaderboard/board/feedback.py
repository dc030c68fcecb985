"""The answers to teams' submissions, for each kind of feedback.

- "rounded" gives every public score.
- "ladder" gives a score only if it improves, by more than chance, on the team's best submission so far or, at
  first, on the best baseline that is shown; scores are rounded to steps of a standard error. This is the
  parameter-free Ladder (Blum & Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions",
  ICML 2015, arXiv 1502.04585, section 4), with independent families in place of independent points.
- "guarded" is a ladder that answers "entered" as soon as another answer could reduce the error about the
  labels, for a team and teams with similar names, to less than `KEPT` of its value. Answers are counted, each
  for the most that it can tell: if those that change no public row were free, the answers would reveal which
  rows are public.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leaderboard.board.shown import Shown, shown
from leaderboard.board.statistics import Families
from leaderboard.board.told import Hidden, Version, hidden_rows, on_board
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.teams import alike
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.told import BIT, KEPT, Knowledge, coarse_step

_ROUNDING = 1 + 1e-9
_COMPARED = 1 - BIT
"""Directions of the labels' errors that a comparison tells at most; a score tells one."""


@dataclass(frozen=True)
class Answer:
    """The answer to a submission.

    Attributes:
        stands: Number of the submission whose score the answer gives, the team's best so far; None for none.
        score: Public RMSE that the answer gives, in points; None for none.
        silent: True if the answer is only "entered", without any comparison.
    """

    stands: int | None
    score: float | None
    silent: bool = False


@dataclass(frozen=True)
class Listening:
    """The data from which answers to submissions are computed.

    Attributes:
        competition: The competition, with its feedback and decimals.
        hidden: The public rows.
        everybody: The knowledge of everybody who reads the baselines on the board.
        anchor: Predictions (ids,) on which a team's first submission must improve in a ladder.
    """

    competition: Competition
    hidden: Hidden
    everybody: Knowledge
    anchor: FloatArray

    @classmethod
    def of(cls, competition: Competition, ledger: Ledger, known: Shown) -> "Listening":
        """Returns the data of the organizer's copy.

        Raises:
            UnusableInput: the ledger, the solution or the record of the build is damaged.
        """
        hidden = hidden_rows(competition, ledger, known)
        anchor = np.array([known.prior[name] for name in competition.ids("test")])
        return cls(competition, hidden, on_board(competition, hidden, known)[1], anchor)

    @property
    def step(self) -> float:
        """Points to multiples of which scores in answers are rounded."""
        if self.competition.feedback == "rounded":
            return 10.0**-self.competition.decimals
        return coarse_step(len(self.hidden.newest.part), self.hidden.error)

    @cached_property
    def budget(self) -> float:
        """Directions of the labels' errors that answers may tell under "guarded".

        For n public rows, each direction is 1 / n of the error's square. A corrected label counts as told.
        """
        rows, first = self.hidden.newest.rows, self.hidden.versions[0].rows
        left = self.hidden.left(self.everybody) / self.hidden.error
        return float(rows.sum() * (left**2 - KEPT**2) - (rows & ~first).sum())

    def answers(self, entries: Sequence[Entry], predictions: FloatArray) -> dict[int, Answer]:
        """Returns the answer to every scored submission, by number, under the newest version of the solution.

        Args:
            entries: Scored submissions, in order.
            predictions: Predictions of the submissions 1, 2, ... (k, ids).
        """
        if self.competition.feedback == "rounded":
            return _rounded(entries, self.competition.decimals)
        found: dict[int, Answer] = {}
        for theirs in together(entries):
            found |= self.told(theirs, predictions)[0]
        return found

    def told(self, entries: Sequence[Entry], predictions: FloatArray) -> tuple[dict[int, Answer], Knowledge]:
        """Returns the answers to submissions of teams that count as one, and their knowledge of the labels.

        The arguments are those of `answers`.
        """
        known = self.everybody.copy()
        answers: dict[int, Answer] = {}
        costs: dict[int, float] = {}
        for version in self.hidden.versions:
            told = [entry for entry in entries if entry.number <= version.last]
            if self.competition.feedback == "rounded":
                answers = _rounded(told, self.competition.decimals)
                self._hear_scores(known, version, told, predictions)
            else:
                answers = self._climb(known, costs, version, told, predictions)
        return answers, known

    def hear_all(self, entries: Sequence[Entry], predictions: FloatArray) -> Knowledge:
        """Returns the knowledge of somebody who gets the answers to all teams, one after another.

        The arguments are those of `answers`.
        """
        known = self.everybody.copy()
        for version in self.hidden.versions:
            told = [entry for entry in entries if entry.number <= version.last]
            if self.competition.feedback == "rounded":
                self._hear_scores(known, version, told, predictions)
                continue
            for theirs in together(told):
                self._repeat(known, version, self.answers(theirs, predictions), predictions)
        return known

    def _repeat(
        self, known: Knowledge, version: Version, answers: Mapping[int, Answer], predictions: FloatArray
    ) -> None:
        """Update the knowledge by the scores in answers; an answer without improvement counts as one bit."""
        for number, answer in answers.items():
            added = self.hidden.added(predictions[number - 1])
            if answer.silent:
                continue
            reference = self.anchor if answer.stands in (None, number) else predictions[answer.stands - 1]
            known.bit(added, self.hidden.added(reference), version.rows)
            if answer.stands == number and answer.score is not None:
                known.number(added, answer.score, self.step, version.rows)

    def _hear_scores(
        self, known: Knowledge, version: Version, entries: Sequence[Entry], predictions: FloatArray
    ) -> None:
        for entry in entries:
            values = predictions[entry.number - 1]
            if np.isfinite(values[0]):
                score = _rmse(version.part.errors(values))
                known.number(self.hidden.added(values), score, self.step, version.rows)

    def _climb(
        self,
        known: Knowledge,
        costs: dict[int, float],
        version: Version,
        entries: Sequence[Entry],
        predictions: FloatArray,
    ) -> dict[int, Answer]:
        """Returns the answers of a ladder, which keeps the best submission of each team.

        `known` is updated, and so are the directions `costs` that the answer to each submission tells.
        """
        standing: dict[str, Answer] = {}
        found: dict[int, Answer] = {}
        for entry in entries:
            before = standing.get(entry.team_id, Answer(None, None))
            reference = self.anchor if before.stands is None else predictions[before.stands - 1]
            values, cost = predictions[entry.number - 1], _COMPARED
            if not np.isfinite(values[0]) or not self._may_hear(costs, entry.number):
                found[entry.number] = Answer(before.stands, before.score, silent=True)
                continue
            old, new = version.part.errors(reference), version.part.errors(values)
            known.bit(self.hidden.added(values), self.hidden.added(reference), version.rows)
            if betters(new, old, version.part.families):
                score, cost = round(round(_rmse(new) / self.step) * self.step, 9), 1.0
                known.number(self.hidden.added(values), score, self.step, version.rows)
                before = standing[entry.team_id] = Answer(entry.number, score)
            found[entry.number] = before
            costs[entry.number] = max(cost, costs.get(entry.number, 0.0))
        return found

    def _may_hear(self, costs: Mapping[int, float], number: int) -> bool:
        """Returns True if a score for the submission `number` leaves enough of the labels' error.

        The result depends on earlier answers alone, and not on the predictions, of which only those of public
        rows tell something: so a refusal reveals neither labels nor which rows are public. The direction of a
        comparison with an earlier submission is that of both scores, so that a score costs one in all.
        """
        if self.competition.feedback != "guarded":
            return True
        more = 1 - costs.get(number, 0.0)
        return not more or sum(costs.values()) + more <= self.budget


def together(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Returns the submissions of every team, in order; teams with similar names are joined."""
    groups = alike(entry.team for entry in entries)
    place = {name: number for number, names in enumerate(groups) for name in names}
    found: list[list[Entry]] = [[] for _ in groups]
    for entry in entries:
        found[place[entry.team]].append(entry)
    return found


def standard_error(differences: FloatArray, families: Families) -> float:
    """Returns the standard error of the mean of paired loss differences (n,), in their unit, over families.

    If each row is a family, it is their standard deviation divided by sqrt(n); it is 0 for a single family.

    >>> rows = Families.of(["a", "b", "c"], ["x", "x", "x"])
    >>> standard_error(np.array([1.0, 2.0, 3.0]), rows) == (1 / 3) ** 0.5
    True
    """
    count = len(families)
    if count < 2:
        return 0.0
    residuals = families.sums(differences - differences.mean())
    return math.sqrt(count / (count - 1) * float(residuals @ residuals)) / len(differences)


def betters(new: FloatArray, old: FloatArray, families: Families) -> bool:
    """Returns True if the squared errors of `new` (n,) are smaller by more than one standard error.

    The standard error is that of the paired difference. A change in one family alone is never enough, since
    its gain equals its standard error.
    """
    gains = old**2 - new**2
    gain = float(gains.mean())
    return gain > 0 and gain > _ROUNDING * standard_error(gains, families)


def best_so_far(entries: Sequence[Entry], decimals: int) -> list[Entry]:
    """Returns the submission with the lowest displayed public RMSE after each one, the earlier of equals.

    Args:
        entries: Scored submissions of one team, in order.
        decimals: Number of decimals of displayed scores.
    """
    found: list[Entry] = []
    for entry in entries:
        best = found[-1] if found else entry
        assert entry.public is not None
        assert best.public is not None
        found.append(entry if round(entry.public, decimals) < round(best.public, decimals) else best)
    return found


def heard(competition: Competition, ledger: Ledger, number: int) -> tuple[Answer, int]:
    """Returns the answer to the scored submission `number`, and the number of rows from which it is computed.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger or a kept file is damaged.
    """
    entries = [entry for entry in ledger.entries() if entry.status == "scored" and entry.number <= number]
    listening = Listening.of(competition, ledger, shown(competition))
    (theirs,) = (made for made in together(entries) if any(entry.number == number for entry in made))
    predictions, _ = kept_table(competition, ledger, theirs)
    rows = len(listening.hidden.newest.part)
    return listening.told(theirs, predictions)[0][number], rows


def _rounded(entries: Sequence[Entry], decimals: int) -> dict[int, Answer]:
    """Returns an answer with the displayed score for every submission."""
    return {
        entry.number: Answer(entry.number, round(entry.public, decimals))
        for entry in entries
        if entry.public is not None
    }


def _rmse(errors: FloatArray) -> float:
    return math.sqrt(float(np.mean(errors**2)))
