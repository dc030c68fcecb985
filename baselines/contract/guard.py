"""Functions that run a method of any author, and turn every failure into one line that names the method."""

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sklearn.base import clone

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Seen
from submission import make_id
from submission.errors import UnusableInput
from submission.progress import progress

LONGEST = 300
"""Largest number of characters of an exception's message that are shown."""


@contextmanager
def guarded(name: str, step: str, method: Estimator) -> Iterator[None]:
    """Run a step of the method called `name`, and turn every exception except Ctrl-C into UnusableInput."""
    try:
        yield
    except (Exception, SystemExit) as error:
        problem = f"{name} fails in {step}: {told(error, folder_of(type(method)))}"
        if UnusableInput.options:
            problem += "; --debug shows its traceback"
        raise UnusableInput(f"{name}: {error}" if isinstance(error, UnusableInput) else problem) from error


def fitted(name: str, prototype: Estimator, subject: str, meta: MetaTrain) -> Estimator:
    """Returns a clone of the method, fitted."""
    with guarded(name, f"fit for {subject}", prototype):
        return clone(prototype).fit(meta)


def predict_each(name: str, method: Estimator, subject: str, sets: Sequence[Seen]) -> dict[str, float]:
    """Returns a fitted method's predictions by id, in [0, 1]; an error names the set."""
    values: dict[str, float] = {}
    for seen in progress(sets, f"{name}: predict", unit="sets"):
        set_id = make_id(subject, seen.set_name)
        with guarded(name, f"predict for {set_id}", method):
            values[set_id] = float(method.predict([seen])[0])
    return values


def told(error: BaseException, folder: Path | None) -> str:
    """Returns the exception in one line: its type, its message, and the last place in a file of `folder`."""
    if isinstance(error, UnusableInput):
        return str(error)
    message = " ".join(str(error).split())
    if len(message) > LONGEST:
        message = f"{message[:LONGEST]} ..."
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if "NoneType" in message:
        text += "; is a `return` missing, or what is read only in the other track (--track)?"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == folder]
    return f"{text} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else text


def folder_of(method_class: type[Estimator]) -> Path | None:
    """Returns the folder of the file that defines the class; None for a class without a file."""
    file = getattr(sys.modules.get(method_class.__module__), "__file__", None)
    return Path(file).parent if file else None
