"""What strangers bring, and how the kit's answer to it is judged."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from submission.errors import UnusableInput

OUTCOMES = ("right", "refused well", "refused though sound", "wrong")


class Brought(NamedTuple):
    """Gives a thing in a folder to the kit, for numbers or a warning; `right` are the numbers, if any are."""

    name: str
    give: Callable[[Path], Any]
    right: Any = None


def things(
    makers: Mapping[str, Callable[[Path], Any]], give: Callable[[Any], Any], right: Any = None
) -> list[Brought]:
    """Things by name, each made in a folder and given to the kit."""
    return [Brought(name, lambda f, make=make: give(make(f)), right) for name, make in makers.items()]


def judged(each: Brought) -> tuple[str, str]:
    """The outcome, and what the kit said; any error but a refusal in one line is wrong."""
    said = StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(said):
        try:
            answer = each.give(Path(folder))
        except UnusableInput as error:
            refused = OUTCOMES[1] if each.right is None else OUTCOMES[2]
            return (refused if len(str(error).splitlines()) == 1 else "wrong"), str(error)
        except Exception as error:
            return "wrong", f"{type(error).__name__}: {error}"
    warned = isinstance(answer, str)
    if each.right is None:
        return ("refused well" if warned or said.getvalue() else "wrong"), str(answer)
    return ("right" if not warned and np.allclose(answer, each.right, atol=1e-3) else "wrong"), str(answer)


def outcomes(kind: str, brought: Iterable[Brought]) -> Counter[str]:
    """The number of things of a kind by outcome; prints those that are neither right nor refused well."""
    counts = Counter[str]()
    for each in brought:
        outcome, said = judged(each)
        counts[outcome] += 1
        if outcome in OUTCOMES[2:]:
            print(f"{outcome}: {kind}, {each.name}: {' '.join(said.split())[:200]}", flush=True)
    return counts
