"""Running a method that anyone may have written: whatever goes wrong in it becomes one line that names it."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from baselines.contract.estimator import Estimator
from starter.observing.observation import Seen
from submission.errors import UnusableInput

LONGEST = 300
"""Characters of an exception's message that are shown."""


@contextmanager
def guarded(name: str, step: str, method: Estimator) -> Iterator[None]:
    """Run a step of the method that the command line calls `name`; only Ctrl-C passes as it is.

    Raises:
        UnusableInput: the step raised anything, SystemExit too.
    """
    try:
        yield
    except UnusableInput as error:
        raise UnusableInput(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        problem = told(error, folder_of(type(method)))
        raise UnusableInput(
            f"{name} fails in {step}: {problem}; `unseen check-method {name}` tells more"
        ) from error


def predict_one(method: Estimator, observation: Seen) -> float:
    """The fitted method's prediction for one set, in [0, 1].

    Raises:
        ValueError: `predict` gives anything but an array (1,) with one number in [0, 1].
    """
    values = method.predict([observation])
    if problem := fractions_problem(values, 1):
        raise ValueError(problem)
    return float(values[0])


def fractions_problem(values: object, m: int) -> str:
    """What is wrong with the predictions of m sets; empty where they are m finite numbers in [0, 1]."""
    if not isinstance(values, np.ndarray) or values.shape != (m,):
        got = getattr(values, "shape", type(values).__name__)
        return f"predict must give an array ({m},), got {got}"
    if values.dtype.kind not in "fiu":
        return f"predict must give numbers, got an array of {values.dtype}"
    if not ((values >= 0) & (values <= 1)).all():
        return f"predictions must be finite and in [0, 1], got {values}"
    return ""


def told(error: BaseException, folder: Path | None) -> str:
    """The exception in one line: type, message, and the last line of a file in `folder` that it came from.

    >>> told(ZeroDivisionError("division by zero"), None)
    'ZeroDivisionError: division by zero'
    """
    message = " ".join(str(error).split())
    if len(message) > LONGEST:
        message = f"{message[:LONGEST]} ..."
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    own = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder
    ]
    return f"{text} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else text


def folder_of(method_class: type[Estimator]) -> Path | None:
    """Where the class's file is, None for a class without one."""
    file = getattr(sys.modules.get(method_class.__module__), "__file__", None)
    return Path(file).parent if file else None
