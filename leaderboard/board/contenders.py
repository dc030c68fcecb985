"""The submission that represents each team on the board, while the competition runs and after its end."""

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter

from leaderboard.board.feedback import Answer, best_so_far
from leaderboard.board.part import Part
from leaderboard.board.table import Contender, Standing
from leaderboard.ledger.ledger import Entry
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.metrics import Score

Baselines = Mapping[str, Mapping[str, float]]


def while_running(
    entries: Sequence[Entry], answers: Mapping[int, Answer], rows: int, baselines: Mapping[str, float]
) -> list[Contender]:
    """Returns the teams with a valid submission, and the baselines, each with its published RMSE alone.

    The score of a team is the best one in the answers to it, the first of equal ones; nan if no answer had a
    score.

    Args:
        entries: Entries of the ledger.
        answers: Answers to scored submissions, by number.
        rows: Number of public rows.
        baselines: RMSE of the baselines as it is shown, by name.
    """
    found = [
        Contender(name, "baseline", Score(rmse, math.nan, math.nan, rows)) for name, rmse in baselines.items()
    ]
    for made in by_team(entries).values():
        if scored := [entry for entry in made if entry.number in answers]:
            told = [
                (answer.score, answer)
                for entry in scored
                if (answer := answers[entry.number]).score is not None
            ]
            score, best = min(told, key=itemgetter(0), default=(math.nan, Answer(None, None)))
            found.append(
                Contender(
                    name=made[0].team,
                    kind="team",
                    score=Score(score, math.nan, math.nan, rows),
                    number=best.stands or scored[0].number,
                    last_submission=f"{made[-1].time:%Y-%m-%d %H:%M:%S}",
                    submissions=len(made),
                )
            )
    return found


def in_public(
    competition: Competition, public: Part, entries: Sequence[Entry], predictions: FloatArray
) -> list[Contender]:
    """Returns the teams after the end, each with its best public score and all further numbers.

    Args:
        competition: Organizer's copy of the competition.
        public: The public part.
        entries: Entries of the ledger.
        predictions: Predictions of the submissions 1, 2, ... (k, ids).
    """
    found = []
    for made in by_team(entries).values():
        if scored := [entry for entry in made if entry.status == "scored"]:
            best = best_so_far(scored, competition.decimals)
            assert best[-1].public is not None
            history = tuple(
                (f"{entry.time:%Y-%m-%d %H:%M}", round(entry.public, competition.decimals))
                for entry, so_far in zip(scored, best, strict=True)
                if entry is so_far and entry.public is not None
            )
            found.append(_team(public, made, best[-1], best[-1].public, predictions, history=history))
    return found


def in_private(
    competition: Competition,
    private: Part,
    entries: Sequence[Entry],
    predictions: FloatArray,
    before: Sequence[Standing],
) -> list[Contender]:
    """Returns the teams after the end, each with the best private score of its final submissions.

    Args:
        competition: Organizer's copy of the competition.
        private: The private part.
        entries: Entries of the ledger.
        predictions: Predictions of the submissions 1, 2, ... (k, ids).
        before: The public standings.
    """
    found = []
    public = {line.name: line for line in before if line.kind == "team"}
    for made in by_team(entries).values():
        finals = [(entry.private, entry) for entry in made if entry.final and entry.private is not None]
        if finals:
            score, best = min(finals, key=lambda pair: (round(pair[0], competition.decimals), pair[1].number))
            found.append(_team(private, made, best, score, predictions, public=public.get(made[0].team)))
    return found


def by_team(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Returns the submissions of every team, by the team's id, in the order of arrival."""
    teams: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.number):
        teams.setdefault(entry.team_id, []).append(entry)
    return teams


def kit(part: Part, methods: Baselines) -> list[Contender]:
    """Returns the kit's methods with all their scores."""
    return [
        Contender(
            name,
            "baseline",
            *part.of_method(predicted),
            further=tuple(other.of_method(predicted)[0].rmse for other in part.further),
        )
        for name, predicted in methods.items()
    ]


def _team(
    part: Part,
    made: Sequence[Entry],
    entry: Entry,
    recorded: float,
    predictions: FloatArray,
    history: tuple[tuple[str, float], ...] = (),
    public: Standing | None = None,
) -> Contender:
    """Returns a team, represented by one of its submissions, with the RMSE that the ledger recorded."""
    found = part.score(predictions[entry.number - 1])
    return Contender(
        name=made[0].team,
        kind="team",
        score=Score(recorded, found.mae, found.spearman, found.n),
        errors=part.errors(predictions[entry.number - 1]),
        number=entry.number,
        last_submission=f"{made[-1].time:%Y-%m-%d %H:%M:%S}",
        submissions=len(made),
        history=history,
        public=public,
        further=tuple(other.score(predictions[entry.number - 1]).rmse for other in part.further),
    )
