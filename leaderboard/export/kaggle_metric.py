"""RMSE in percentage points between predicted and true fractions: a metric for Kaggle. Lower is better.

It needs NumPy and pandas only, and gives the same score as `submission.metrics`. The text of
`ParticipantVisibleError` is all that participants see of an error; it never depends on a target or reveals
which ids are public.
"""

import hashlib
import json
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

IDS = ""
"""The `digest` of all ids of the competition; "" to require only the ids of the solution."""
RULES = (
    "It must have exactly the ids of the sample submission, each once, and as predictions plain decimal "
    "numbers, fractions in [0, 1]: divide percentages by 100."
)
"""The message about an `aligned` submission: one for each fault would reveal which part has the row."""


class ParticipantVisibleError(Exception):
    """An error in a submission, whose text participants see."""


def score(
    solution: pd.DataFrame,
    submission: pd.DataFrame,
    row_id_column_name: str,
    decimals: int = 2,
    aligned: bool = False,
) -> float:
    """Returns the root mean squared error in percentage points, 0 (perfect) to 100; lower is better.

    Rows are matched by id, never by position. Every id of the competition is required, even if the
    solution lacks it because its part is not scored now.

    Args:
        solution: Table of the ids and `target`, fractions in [0, 1]; other columns are not read.
        submission: Table of the ids and `prediction`, fractions in [0, 1].
        row_id_column_name: Name of the column of ids.
        decimals: Number of decimals of the score. Each further one makes it ten times as easy to solve for
            the targets.
        aligned: True if the platform compares the ids itself and passes only those of the scored part.

    Raises:
        ParticipantVisibleError: the submission breaks the format.

    >>> solution = pd.DataFrame({"id": ["a", "b"], "target": [0.5, 0.9]})
    >>> score(solution, pd.DataFrame({"id": ["b", "a"], "prediction": [0.9, 0.6]}), "id")
    7.07
    >>> score(solution, pd.DataFrame({"id": ["a", "b"], "prediction": [0.5, 0.9]}), "id")
    0.0
    """
    try:
        predictions = _checked(submission, row_id_column_name)
        complete = aligned or not IDS or digest(predictions.index) == IDS
        if not complete or not solution[row_id_column_name].isin(predictions.index).all():
            raise ParticipantVisibleError("It must have exactly the ids of the sample submission.")
    except ParticipantVisibleError as fault:
        raise ParticipantVisibleError(RULES if aligned else str(fault)) from None
    predicted = predictions.loc[solution[row_id_column_name]].to_numpy(np.float64)
    error = 100 * (predicted - solution["target"].to_numpy(np.float64))
    return round(math.sqrt(np.mean(error**2)), decimals)


def digest(ids: Iterable[object]) -> str:
    """Returns the SHA-256 of ids, independent of their order."""
    return hashlib.sha256(json.dumps(sorted(map(str, ids))).encode()).hexdigest()


def _checked(submission: pd.DataFrame, row_id: str) -> pd.Series:
    """Returns the predictions by id."""
    for column in (row_id, "prediction"):
        if column not in submission.columns:
            raise ParticipantVisibleError(f"The column {column!r} is missing: expected {row_id},prediction.")
    twice = submission[row_id][submission[row_id].duplicated()]
    if len(twice):
        raise ParticipantVisibleError(f"The id {str(twice.iloc[0])!r} is given twice.")
    given = submission["prediction"]
    if not pd.api.types.is_numeric_dtype(given) or pd.api.types.is_bool_dtype(given):
        raise ParticipantVisibleError("Predictions must be plain decimal numbers.")
    values = given.to_numpy(np.float64, na_value=np.nan)
    if not np.isfinite(values).all():
        raise ParticipantVisibleError("Every prediction must be a finite number: some are missing or not.")
    if (values >= 0).all() and (values <= 100).all() and 2 * (values > 1).sum() > len(values):
        raise ParticipantVisibleError("Every prediction looks like a percentage: divide them by 100.")
    if ((values < 0) | (values > 1)).any():
        raise ParticipantVisibleError("Predictions must be fractions in [0, 1].")
    return pd.Series(values, index=submission[row_id].to_numpy())
