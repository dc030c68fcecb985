"""Functions that run a method of any author, and turn every failure into one line that names the method."""

import dataclasses
import hashlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import PERCENTAGES, Estimator
from starter.observing.observation import MetaTrain, ScoredMix, Seen
from submission import make_id
from submission.errors import UnusableInput

LONGEST = 300
"""Largest number of characters of an exception's message that are shown."""
SAME = 1e-6
"""Largest difference between two predictions of one set, as fractions."""
TOGETHER = "each set must be predicted by itself, but predictions of two sets together differ"


@contextmanager
def guarded(name: str, step: str, method: Estimator, track: str = "accuracy") -> Iterator[None]:
    """Run a step of the method called `name`, and turn every exception except Ctrl-C into UnusableInput.

    The message says how to check the method for the competition's track.

    Raises:
        UnusableInput: the step raised any exception, SystemExit included.
    """
    try:
        yield
    except UnusableInput as error:
        raise UnusableInput(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        problem = told(error, folder_of(type(method)))
        check = f"unseen check-method {name}" + (" --track ood" if track == "ood" else "")
        raise UnusableInput(f"{name} fails in {step}: {problem}; run `{check}` for details") from error


@contextmanager
def unchanged(name: str, method: Estimator, meta: MetaTrain) -> Iterator[None]:
    """Fit and predict inside, and refuse a user's method that changed in place what all methods share.

    Raises:
        UnusableInput: the labelled source, its network, the targets or labels are not what they were.
    """
    names = [] if of_the_kit(type(method)) else [each.name for each in dataclasses.fields(meta)]
    shared = [getattr(meta, name) for name in names if name != "sets"]  # which are read anew for each method
    before = fingerprint(shared)
    yield
    if fingerprint(shared) != before:
        raise UnusableInput(
            f"{name} changes the labelled source, the targets or labels, which other methods read too: copy "
            "an array or a network before you change it"
        )


def fitted(name: str, prototype: Estimator, subject: str, meta: MetaTrain) -> Estimator:
    """Returns a clone of the method, fitted with only the fields that it declared in `needs` and `wants`.

    Raises:
        UnusableInput: the method fails.
    """
    with guarded(name, f"fit for {subject}", prototype, "ood" if meta.ood else "accuracy"):
        method = clone(prototype)
        method.fit(meta.only(method.reads))
    return method


def predict_each(name: str, method: Estimator, subject: str, sets: Sequence[Seen]) -> dict[str, float]:
    """Returns a fitted method's predictions by id, in [0, 1], computed set by set.

    If the method overrides `predict`, the first two sets are predicted again together, to refuse methods that
    look at several sets at once. A method that defines `_predict` sees one set at a time; `check-method`
    finds out whether it remembers earlier sets.

    Raises:
        UnusableInput: the method fails, predicts no fractions, or does not predict each set by itself; the
            message names the set.
    """
    values: dict[str, float] = {}
    for seen in sets:
        set_id = make_id(subject, seen.set_name)
        with guarded(name, f"predict for {set_id}", method, track_of(seen)):
            values[set_id] = predict_one(method, seen)
    if type(method).predict is not Estimator.predict and len(sets) > 1:
        first = np.array(list(values.values())[:2])
        with guarded(name, f"predict for {subject}", method, track_of(sets[0])):
            again = method.predict([seen.only(method.reads) for seen in sets[:2]])
            if problem := fractions_problem(again, len(first)):
                raise ValueError(problem)
            if not np.allclose(again, first, rtol=0, atol=SAME):
                raise ValueError(f"{TOGETHER}: {again}, not {first}")
    return values


def track_of(seen: Seen) -> str:
    """Returns the track of a set."""
    return "ood" if isinstance(seen, ScoredMix) else "accuracy"


def predict_one(method: Estimator, seen: Seen) -> float:
    """Returns the fitted method's prediction for one set, in [0, 1], from the fields that it declared.

    Raises:
        ValueError: `predict` returns anything but an array (1,) with one number in [0, 1].
    """
    values = method.predict([seen.only(method.reads)])
    if problem := fractions_problem(values, 1):
        raise ValueError(problem)
    return float(values[0])


def fractions_problem(values: object, m: int) -> str:
    """Returns the problem with the predictions of m sets; "" if they are m finite numbers in [0, 1]."""
    if not isinstance(values, np.ndarray) or values.shape != (m,):
        got = values.shape if isinstance(values, np.ndarray) else type(values).__name__
        return f"predict must return an array ({m},), got {got}"
    if values.dtype.kind not in "fiu":
        return f"predict must return numbers, got an array of {values.dtype}"
    if np.isfinite(values).all() and (values >= PERCENTAGES).any():
        return f"predictions look like percentages: return fractions in [0, 1], got {values}"
    if not ((values >= 0) & (values <= 1)).all():
        return f"predictions must be finite and in [0, 1], got {values}"
    return ""


def told(error: BaseException, folder: Path | None) -> str:
    """Returns the exception in one line: its type, its message, and the last place in a file of `folder`.

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


def of_the_kit(method_class: type) -> bool:
    """Returns whether a method's class is the kit's own."""
    return method_class.__module__.partition(".")[0] in ("baselines", "oracle")


def folder_of(method_class: type[Estimator]) -> Path | None:
    """Returns the folder of the file that defines the class; None for a class without a file."""
    file = getattr(sys.modules.get(method_class.__module__), "__file__", None)
    return Path(file).parent if file else None


def fingerprint(values: object) -> str:
    """Returns a text that changes if any array or weight of a network inside the values changes."""
    if isinstance(values, np.ndarray):
        return repr((values.shape, values.dtype.str, hashlib.sha256(values.tobytes()).hexdigest()))
    if hasattr(values, "state_dict"):
        return fingerprint([weights.cpu().numpy() for weights in values.state_dict().values()])
    if dataclasses.is_dataclass(values):
        return repr([(f.name, fingerprint(getattr(values, f.name))) for f in dataclasses.fields(values)])
    if isinstance(values, list):
        return repr([found for value in values if (found := fingerprint(value))])
    if isinstance(values, dict):
        return fingerprint(list(values.values()))
    return repr(values) if isinstance(values, str | float | int | frozenset) else ""
