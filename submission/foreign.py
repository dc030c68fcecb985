"""Telling a file of another competition or track by its ids, in a line in the place of one for each id."""

from collections.abc import Sequence

from submission.competition import Competition
from submission.ids import split_id
from submission.tracks import TRACKS

SHOWN = 3
"""Subjects that a message names."""


def foreign(competition: Competition, ids: Sequence[str]) -> str:
    """What a file with these ids seems to be, where no subject of theirs is the competition's; else "".

    An id that is none says nothing.
    """
    subjects = dict.fromkeys(subject for name in ids if (subject := _subject(name)))
    if not subjects or not subjects.keys().isdisjoint(competition.subjects):
        return ""
    named, own = _shown(list(subjects)), _shown(competition.subjects)
    track = "ood" if all(map(_of_a_detector, subjects)) else "accuracy"
    if track != competition.track:
        return (
            f"its ids are of the {track} track ({named}), this competition of the {competition.track} track"
        )
    return f"its ids are of another competition: they are about {named}, and this one is about {own}"


def _subject(name: str) -> str:
    try:
        return split_id(name)[0]
    except ValueError:
        return ""


def _of_a_detector(subject: str) -> bool:
    try:
        return bool(TRACKS["ood"].split(subject))
    except ValueError:
        return False


def _shown(subjects: Sequence[str]) -> str:
    return ", ".join([*subjects[:SHOWN], *(["..."] if len(subjects) > SHOWN else [])])
