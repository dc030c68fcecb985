"""The library in thirteen names, each imported when it is asked for, and the command line.

`import unseen` takes next to no time. It makes sure that the kit's five packages are imported from the folder
beside this one, even if the working folder has files of the same names (docs/decisions/0104-ten-names.md).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baselines.contract.estimator import Estimator as Estimator
    from leaderboard.changes import amend as amend
    from leaderboard.changes import team as team
    from starter.observing.observation import MetaTrain as MetaTrain
    from starter.observing.observation import Observation as Observation
    from starter.observing.observation import ScoredMix as ScoredMix
    from starter.observing.observation import Source as Source
    from submission.errors import InvalidSubmission as InvalidSubmission
    from submission.errors import UnusableInput as UnusableInput
    from submission.metrics import Score as Score
    from unseen.api.board import leaderboard as leaderboard
    from unseen.api.board import score as score
    from unseen.api.contest import Contest as Contest
    from unseen.api.contest import build as build
    from unseen.api.contest import open as open
    from unseen.api.methods import Evaluation as Evaluation
    from unseen.api.methods import evaluate as evaluate
    from unseen.api.methods import methods as methods
    from unseen.api.methods import predict as predict
    from unseen.estimation.estimation import Estimation as Estimation
    from unseen.estimation.from_logits import estimate as estimate
    from unseen.estimation.ranking import Ranking as Ranking
    from unseen.estimation.ranking import rank as rank

PACKAGES = ("submission", "starter", "baselines", "oracle", "leaderboard")
HERE = Path(__file__).resolve().parents[1]
MODULES = {
    "unseen.api.board": ("leaderboard", "score"),
    "leaderboard.changes": ("amend", "team"),
    "unseen.api.contest": ("Contest", "build", "open"),
    "unseen.api.methods": ("Evaluation", "evaluate", "methods", "predict"),
    "unseen.estimation.estimation": ("Estimation",),
    "unseen.estimation.from_logits": ("estimate",),
    "unseen.estimation.ranking": ("Ranking", "rank"),
    "baselines.contract.estimator": ("Estimator",),
    "starter.observing.observation": ("MetaTrain", "Observation", "ScoredMix", "Source"),
    "submission.errors": ("InvalidSubmission", "UnusableInput"),
    "submission.metrics": ("Score",),
}
"""The modules that define the library's functions, types and errors."""
NAMES = {name: module for module, names in MODULES.items() for name in names}
NO_WINDOWS = "Unseen runs on Linux and macOS: on Windows, run it in WSL (docs/design/limits.md says why)"


class Beside:
    """Finder that takes the kit's packages from the folder beside this one, before any place on the path."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Returns the location of a package of the kit; None for any other module."""
        return PathFinder.find_spec(name, [str(HERE)]) if name in PACKAGES else None


def find_own_packages() -> None:
    """Import the kit's packages from beside this folder; a file of the user's of such a name is told."""
    for name in PACKAGES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and Path(file).resolve().parent != HERE / name:
            raise ImportError(f"{file} was imported as `{name}`, a package of Unseen: rename that file")
    sys.meta_path.insert(0, Beside())
    with suppress(OSError):  # a working folder that was removed has no path
        for folder in dict.fromkeys(os.path.realpath(place) for place in ("", *sys.path[:1])):
            for file in _hidden(Path(folder)):
                line = f"{file} is not imported, since a package of Unseen has its name: rename that file"
                print(line, file=sys.stderr)


def _hidden(folder: Path) -> Iterator[Path]:
    """Yields the modules in a folder that the kit's packages hide; there are none in a clone of the kit."""
    if (folder / "unseen" / "__init__.py").is_file():
        return
    for name in PACKAGES:
        if (folder / f"{name}.py").is_file():
            yield folder / f"{name}.py"
        if any((folder / name).glob("*.py")):
            yield folder / name


find_own_packages()


@cache
def __getattr__(name: str) -> object:
    """Returns a function or class of `NAMES`, or the command line, `app`."""
    if name == "app":
        return import_module("unseen.cli.command_line").command_line()
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if sys.platform == "win32":
        raise ImportError(NO_WINDOWS)
    return getattr(import_module(NAMES[name]), name)


def __dir__() -> list[str]:
    """Returns the names of the library's functions, classes and errors, sorted."""
    return sorted(NAMES)


def main() -> None:
    """Run the command line."""
    if sys.platform == "win32":  # before Typer, which is another one there
        print(f"error: {NO_WINDOWS}", file=sys.stderr)
        sys.exit(2)
    from unseen.cli.command_line import command_line, run

    # PyTorch's threads sleep while they wait: threads that spin are several times slower beside others.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    run(partial(command_line(), prog_name="unseen"))
