"""The two errors that the user can correct; any other error is a bug and keeps its traceback."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ClassVar

SHOWN_PROBLEMS = 10
"""Number of problems of a kind that a message lists."""


LISTS = {"classifier": "classifiers", "detector": "detectors", "metric": "metrics", "referee": "referees"}
"""Options that are given once a value, and the parameters that hold all of them."""
OPTION = re.compile(r"(\bunseen [a-z][^;,:)\n]*)|(?<![^\s(])--([a-z][a-z0-9-]*)(?=[\s,;:)]|[.?]?$|[.?]\s)")
"""A command, which stays as it is; or an option, a word by itself."""


class UnusableInput(ValueError):
    """An argument, file or folder that cannot be used: the message names it and the fix (exit code 2).

    Messages are written with options, as on the command line. They are shown with the parameters of these
    names unless a command runs (`naming_options`).

    >>> print(UnusableInput("--set-size and --classifier: see unseen build --help"))
    set_size and classifiers: see unseen build --help
    """

    options: ClassVar[bool] = False

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.options else OPTION.sub(_parameter, text)


def _parameter(match: re.Match[str]) -> str:
    """Returns the parameter of an option; a command as it is."""
    command, option = match.groups()
    return command or LISTS.get(option, option.replace("-", "_"))


@contextmanager
def naming_options() -> Iterator[None]:
    """Show options in messages while a command runs."""
    UnusableInput.options = True
    try:
        yield
    finally:
        UnusableInput.options = False


class InvalidSubmission(ValueError):
    """A submission that breaks the format (exit code 1).

    ``problems`` holds every problem, each with the line and the id concerned; the message shows the first
    ten of a kind and then a count. Nothing in it depends on a hidden label. ``note``, at the end of the first
    line, says whether the file was recorded.

    >>> print(InvalidSubmission("mine.csv", ["line 2, id 'a/b': prediction 'x' is not a number"]))
    mine.csv is not a valid submission: 1 problem
      line 2, id 'a/b': prediction 'x' is not a number
    """

    def __init__(self, name: str, problems: Sequence[str], note: str = "") -> None:
        self.name = name
        self.problems = tuple(problems)
        self.note = note
        count = len(self.problems)
        note = f"; {note}" if note else ""
        counted = "1 problem" if count == 1 else f"{count} problems"
        lines = [f"{printable(name)} is not a valid submission: {counted}{note}"]
        kinds = dict[str, list[str]]()
        for problem in self.problems:
            kinds.setdefault(re.sub(r".*['\"]|\d+", "", problem), []).append(problem)
        for alike in kinds.values():
            lines += [f"  {problem}" for problem in alike[:SHOWN_PROBLEMS]]
            if len(alike) > SHOWN_PROBLEMS:
                lines.append(f"  ... and {len(alike) - SHOWN_PROBLEMS} more like these")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type["InvalidSubmission"], tuple[str, tuple[str, ...], str]]:
        """Returns how a pickle makes the same error."""
        return type(self), (self.name, self.problems, self.note)


def printable(text: object) -> str:
    """Returns `text` on one line, with characters that cannot be printed escaped as `repr` does."""
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in str(text))


def unusable(path: Path | str, reason: str) -> UnusableInput:
    """Returns the error that says in one printable line that `path` cannot be used, for this `reason`."""
    return UnusableInput(printable(f"{path}: {reason}"))


def why(error: Exception) -> str:
    """Returns the text of an error of the system or of a library, on one line of at most 200 characters."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:200]


def tell(text: str) -> None:
    """Print a line for the user."""
    print(printable(text), file=sys.stderr)


tell_once = cache(tell)
"""Print a line for the user, once a process."""
