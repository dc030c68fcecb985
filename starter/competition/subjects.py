"""The subjects of a competition, whichever its track."""

from collections.abc import Callable, Mapping

from starter.competition.accuracy import PublicSets, Subject, open_classifiers
from starter.competition.ood import MixSets, MixSubject, open_mix_subjects
from submission import Competition

SUBJECTS: dict[str, Callable[[Competition, tuple[str, ...], str], Mapping[str, Subject | MixSubject]]] = {
    "accuracy": open_classifiers,
    "ood": open_mix_subjects,
}
"""How each track's subjects are opened."""
SETS: dict[str, type[PublicSets]] = {"accuracy": PublicSets, "ood": MixSets}
"""What each track's public folder holds."""


def open_subjects(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, Subject | MixSubject]:
    """Every subject by name, in order, observed with what `needs` asks for.

    Raises:
        UnusableInput: a classifier's weights are missing, damaged or do not fit the competition, or it cannot
            give what `needs` asks for.
    """
    return SUBJECTS[competition.track](competition, needs, device)
