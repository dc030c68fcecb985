"""The methods of the kit by track and name, with the reasons why some run only if they are named."""

from functools import cache

import pandas as pd

from baselines import BASELINES, OOD_BASELINES
from baselines.contract.estimator import Estimator
from oracle import ORACLES
from submission.errors import UnusableInput

EXPENSIVE = {
    "ora-a": "trains for minutes per classifier",
    "ora-b": "trains for half an hour per classifier",
    "syp": "trains for half an hour per classifier",
    "projnorm": "trains a network on every set, for hours per classifier",
}
"""Methods that `predict` runs only if they are named, each with the reason."""


@cache
def methods_of(track: str) -> dict[str, Estimator]:
    """Returns the prototypes of the kit's methods for a track, by name; clone one before you fit it.

    Raises:
        UnusableInput: the track does not exist.
    """
    kit = {"accuracy": {**BASELINES, **ORACLES}, "ood": OOD_BASELINES}
    if track not in kit:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(kit)}")
    return kit[track]


def methods(track: str = "accuracy") -> pd.DataFrame:
    """Returns a table of the kit's methods, one row per method.

    >>> import unseen
    >>> unseen.methods().loc["fd", "needs"]
    ('moments',)

    Args:
        track: "accuracy" or "ood".

    Returns:
        A table indexed by name, with the columns `summary` (with the source), `needs` (fields of a set that
        the method reads besides the logits), `parameters`, and `only_by_name` (the reason why the method runs
        only if it is named, or "").

    Raises:
        UnusableInput: the track does not exist.
    """
    rows = {
        name: (method.summary, method.needs, method.parameters(), EXPENSIVE.get(name, ""))
        for name, method in methods_of(track).items()
    }
    columns = ["summary", "needs", "parameters", "only_by_name"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")
