"""What teams hear of their submissions, by the competition's kind of feedback.

"rounded" tells every public score. "ladder" tells what betters, by more than chance, the submission that
stands for the team, or the best baseline that is shown, and that in steps of a standard error (the
parameter-free Ladder: Blum & Hardt, ICML 2015, arXiv 1502.04585, section 4; there points are independent,
here families are). "guarded" is a ladder that says "entered" of what would leave a team, and teams of a like
name, less than `KEPT` of the labels' error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.board.shown import Shown, shown
from leaderboard.board.statistics import Families
from leaderboard.board.told import Hidden, Version, hidden_rows, on_board
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.teams import alike
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.told import KEPT, Knowledge, coarse_step

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Answer:
    """What a team is told of a submission.

    Attributes:
        stands: the number of the submission whose score is told; None for none.
        score: the public RMSE that is told, in points; None for none.
        silent: whether nothing was compared, so that nothing is heard: the answer is "entered".
    """

    stands: int | None
    score: float | None
    silent: bool = False


@dataclass(frozen=True)
class Listening:
    """What the answers to submissions rest on, beside these.

    Attributes:
        competition: whose feedback and decimals count.
        hidden: the public rows.
        everybody: what everybody knows by the baselines on the board.
        anchor: the predictions (ids,) that a team's first submission must better, where there is a ladder.
    """

    competition: Competition
    hidden: Hidden
    everybody: Knowledge
    anchor: FloatArray

    @classmethod
    def of(cls, competition: Competition, ledger: Ledger, known: Shown) -> "Listening":
        """What answers rest on in the organizer's copy.

        Raises:
            UnusableInput: the ledger, the solution or the record of the build is damaged.
        """
        hidden = hidden_rows(competition, ledger, known)
        anchor = np.array([known.prior[name] for name in competition.ids("test")])
        return cls(competition, hidden, on_board(competition, hidden, known)[1], anchor)

    @property
    def step(self) -> float:
        """To which told scores are rounded, in points."""
        if self.competition.feedback == "rounded":
            return 10.0**-self.competition.decimals
        return coarse_step(len(self.hidden.newest.part), self.hidden.error)

    def answers(self, entries: Sequence[Entry], predictions: FloatArray) -> dict[int, Answer]:
        """What was told of every scored submission, by number, under the version in force.

        Args:
            entries: scored submissions, in order.
            predictions: of submissions, by number less one (k, ids).
        """
        if self.competition.feedback == "rounded":
            return _rounded(entries, self.competition.decimals)
        found: dict[int, Answer] = {}
        for theirs in together(entries):
            found |= self.told(theirs, predictions)[0]
        return found

    def told(self, entries: Sequence[Entry], predictions: FloatArray) -> tuple[dict[int, Answer], Knowledge]:
        """The answers to the submissions of teams that listen together, and what they know by them."""
        known = self.everybody.copy()
        answers: dict[int, Answer] = {}
        for version in self.hidden.versions:
            told = [entry for entry in entries if entry.number <= version.last]
            if self.competition.feedback == "rounded":
                answers = _rounded(told, self.competition.decimals)
                self._hear_scores(known, version, told, predictions)
            else:
                answers = self._climb(known, version, told, predictions)
        return answers, known

    def hear_all(self, entries: Sequence[Entry], predictions: FloatArray) -> Knowledge:
        """What somebody knows who hears the answers to all teams: what each is told, one after another."""
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
        """Learn the scores that answers tell; what did not stand is taken to tell a bit."""
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
        self, known: Knowledge, version: Version, entries: Sequence[Entry], predictions: FloatArray
    ) -> dict[int, Answer]:
        """The answers of a ladder, a standing submission a team."""
        standing: dict[str, Answer] = {}
        found: dict[int, Answer] = {}
        for entry in entries:
            before = standing.get(entry.team_id, Answer(None, None))
            reference = self.anchor if before.stands is None else predictions[before.stands - 1]
            values = predictions[entry.number - 1]
            if not np.isfinite(values[0]) or not self._may_hear(known, version, values, reference):
                found[entry.number] = Answer(before.stands, before.score, silent=True)
                continue
            old, new = version.part.errors(reference), version.part.errors(values)
            known.bit(self.hidden.added(values), self.hidden.added(reference), version.rows)
            if betters(new, old, version.part.families):
                score = round(round(_rmse(new) / self.step) * self.step, 9)
                known.number(self.hidden.added(values), score, self.step, version.rows)
                before = standing[entry.team_id] = Answer(entry.number, score)
            found[entry.number] = before
        return found

    def _may_hear(
        self, known: Knowledge, version: Version, values: FloatArray, reference: FloatArray
    ) -> bool:
        """Whether a comparison, and a score if it comes to that, leave enough of the labels' error.

        It follows from what was told, so that the refusal itself tells nothing.
        """
        if self.competition.feedback != "guarded":
            return True
        tried, added = known.copy(), self.hidden.added(values)
        tried.bit(added, self.hidden.added(reference), version.rows)
        expected = math.hypot(self.hidden.error, _rmse(added[version.rows]))
        tried.number(added, expected, self.step, version.rows)
        return self.hidden.left(tried) >= KEPT * self.hidden.error


def together(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The submissions of every team, with those of teams whose names are alike, in order."""
    groups = alike({entry.team for entry in entries})
    place = {name: number for number, names in enumerate(groups) for name in names}
    found: list[list[Entry]] = [[] for _ in groups]
    for entry in entries:
        found[place[entry.team]].append(entry)
    return found


def standard_error(differences: FloatArray, families: Families) -> float:
    """Of the mean of paired loss differences (n,), in their unit, with families as what is sampled.

    With a row a family it is their standard deviation over the root of n; 0 where there is one family.

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
    """Whether errors (n,) are smaller than others by more than the standard error of the paired difference.

    A change within one family alone, of the others' size, never is: its gain equals its standard error.
    """
    gains = old**2 - new**2
    gain = float(gains.mean())
    return gain > 0 and gain > _ROUNDING * standard_error(gains, families)


def best_so_far(entries: Sequence[Entry], decimals: int) -> list[Entry]:
    """The submission with the lowest displayed public RMSE after each one, the earlier of equal ones.

    Args:
        entries: scored submissions of one team, in order.
        decimals: of displayed scores.
    """
    found: list[Entry] = []
    for entry in entries:
        best = found[-1] if found else entry
        assert entry.public is not None
        assert best.public is not None
        found.append(entry if round(entry.public, decimals) < round(best.public, decimals) else best)
    return found


def heard(competition: Competition, ledger: Ledger, number: int) -> tuple[Answer, int]:
    """What a team is told of submission `number`, a scored one, and how many rows that rests on.

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
    """Every score, as it is displayed."""
    return {
        entry.number: Answer(entry.number, round(entry.public, decimals))
        for entry in entries
        if entry.public is not None
    }


def _rmse(errors: FloatArray) -> float:
    return math.sqrt(float(np.mean(errors**2)))
