"""The referees of a build: written, entered in its description, compared with classifiers, packed."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from starter.contest.subject import open_observer
from starter.models.encoders.choose import LITE0
from starter.models.encoders.two_tower import TwoTowerEncoder
from starter.observing.observation import REFEREE, Observation
from starter.observing.observe import observe_all
from starter.observing.referee import Referee, packed_name
from starter.observing.referee_fit import referee_file
from starter.observing.sets import REFERENCES, PublicSets
from submission import Competition, UnusableInput
from submission.files import write_bytes

SAME = 0.995
"""Fraction of agreement from which on a referee is regarded as equal to the classifier."""


def write_referees(public: Path, referees: Iterable[Referee]) -> list[str]:
    """Write each probe, and the encoders that are files; returns the paths below `public`."""
    files = []
    for each in referees:
        files.append(referee_file(each.name))
        each.probe.save(public / files[-1])
        if isinstance(encoder := each.encoder(), TwoTowerEncoder):
            files.append(referee_file(each.name, ".encoder"))
            encoder.save(public / files[-1])
    return files


def referee_needs(referees: Sequence[Referee]) -> tuple[str, ...]:
    """Returns the fields observed on public sets: features too, if the first encoder cannot be had."""
    if not referees:
        return ()
    travels = referees[0].probe.spec == LITE0 or isinstance(referees[0].encoder(), TwoTowerEncoder)
    return ("referee",) if travels else ("referee", "referee_features")


def pack_referees(draft: Competition, needs: Sequence[str], device: str) -> list[str]:
    """Write the referees' observations of all public sets; returns the paths. None may be a classifier."""
    sets = PublicSets(draft)
    files = []
    shown = [*map(sets.find, *zip(*REFERENCES, strict=True)), *sets.train]
    shown += [*sets.stored("val"), *sets.stored("test")]
    for name in draft.classifiers:
        observer = open_observer(sets, name, ("referee",), device)
        check_differs(draft.referees, observe_all(sets.train, observer, ("referee",)))
    for number, referee in enumerate(observer.referees):
        assert isinstance(referee, Referee)
        parts = tuple(needs) if number == 0 else ("referee",)  # only the first one keeps features
        seen = {}
        for rendering in shown:
            for part, arrays in referee.read(rendering, parts).items():
                (array,) = arrays.values()
                seen[packed_name(part, rendering)] = np.ascontiguousarray(array)
        files.append(referee_file(referee.name, ".seen"))
        write_bytes(draft.public / files[-1], save({name: seen[name] for name in sorted(seen)}))
    return files


def check_differs(names: Iterable[str], sets: Sequence[Observation]) -> None:
    """Refuse a referee that predicts as the classifier does on observed sets: it adds no evidence."""
    sets = list(sets)
    predicted = np.concatenate([each.predicted for each in sets])
    for name in names:
        judged = np.concatenate([each.views[f"{REFEREE}{name}"].argmax(axis=1) for each in sets])
        if (judged == predicted).mean() >= SAME:
            raise UnusableInput(
                f"--referee {name} says of each image what {sets[0].classifier} says: name an encoder that "
                "learnt from other images"
            )
