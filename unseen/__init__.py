"""The library in ten names, each imported when it is asked for, and the command line.

`import unseen` takes next to no time. It makes sure that the kit's five packages are imported from the folder
beside this one, even if the working folder has files of the same names (docs/decisions/0104-ten-names.md).
"""

import os
import sys
import warnings
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer.core import TyperGroup

    from baselines.contract.estimator import Estimator as Estimator
    from starter.observing.observation import MetaTrain as MetaTrain
    from starter.observing.observation import Observation as Observation
    from starter.observing.observation import Source as Source
    from submission.errors import InvalidSubmission as InvalidSubmission
    from submission.errors import UnusableInput as UnusableInput
    from submission.metrics import Score as Score
    from unseen.api.board import leaderboard as leaderboard
    from unseen.api.board import score as score
    from unseen.api.contest import Contest as Contest
    from unseen.api.contest import build as build
    from unseen.api.contest import open as open
    from unseen.api.evaluate import Evaluation as Evaluation
    from unseen.api.evaluate import evaluate as evaluate
    from unseen.api.kit import methods as methods
    from unseen.api.predict import predict as predict
    from unseen.estimation.estimation import Estimation as Estimation
    from unseen.estimation.from_logits import estimate as estimate

PACKAGES = ("submission", "starter", "baselines", "oracle", "leaderboard")
HERE = Path(__file__).resolve().parents[1]
NAMES = {
    "open": "unseen.api.contest",
    "build": "unseen.api.contest",
    "predict": "unseen.api.predict",
    "evaluate": "unseen.api.evaluate",
    "score": "unseen.api.board",
    "leaderboard": "unseen.api.board",
    "methods": "unseen.api.kit",
    "estimate": "unseen.estimation.from_logits",
    "Estimator": "baselines.contract.estimator",
    "Observation": "starter.observing.observation",
}
"""The functions and classes of the library, each with the module that defines it."""
TYPES = {
    "Contest": "unseen.api.contest",
    "Evaluation": "unseen.api.evaluate",
    "Estimation": "unseen.estimation.estimation",
    "Source": "starter.observing.observation",
    "MetaTrain": "starter.observing.observation",
    "Score": "submission.metrics",
    "InvalidSubmission": "submission.errors",
    "UnusableInput": "submission.errors",
}
"""The types of the library's arguments and results, and its errors, each with the module that defines it."""


class Beside:
    """Finder that takes the kit's packages from the folder beside this one, before any place on the path."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Returns the location of a package of the kit; None for any other module."""
        return PathFinder.find_spec(name, [str(HERE)]) if name in PACKAGES else None


def find_own_packages() -> None:
    """Import the kit's packages from beside this folder, and warn of others of the same names.

    Raises:
        ImportError: a module with the name of a package was already imported from elsewhere.
    """
    for name in PACKAGES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and Path(file).resolve().parent != HERE / name:
            raise ImportError(f"{file} was imported as `{name}`, a package of Unseen: rename that file")
    sys.meta_path.insert(0, Beside())
    for folder in {Path(entry) for entry in sys.path if entry.endswith("-packages")}:
        for name in PACKAGES:
            if (folder != HERE and (folder / name).is_dir()) or any(folder.glob(f"{name}-*.*-info")):
                text = f"{folder} has a package `{name}` that is not Unseen's: use two environments"
                warnings.warn(text, stacklevel=2)


find_own_packages()


@cache
def __getattr__(name: str) -> object:
    """Returns a function or class of `NAMES` or `TYPES`, or the command line, `app`."""
    if name == "app":
        return command_line()
    module = {**NAMES, **TYPES}.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    """Returns the names of the library's functions, classes and errors, sorted."""
    return sorted({*NAMES, *TYPES})


@cache
def command_line() -> "TyperGroup":
    """Returns the application, `unseen`."""
    from unseen.cli import COMMANDS, GROUPS
    from unseen.cli.command_line import command_line as made

    return made(COMMANDS, GROUPS)


def main() -> None:
    """Run the command line.

    Sets OMP_WAIT_POLICY to passive, unless it is set, so that PyTorch's threads sleep while they wait.
    Threads that spin are several times slower as soon as another program runs, and hardly faster if none
    does.
    """
    from unseen.cli.exits import run

    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if not sys.stderr.isatty():  # a log is no place for progress bars
        os.environ.setdefault("TQDM_DISABLE", "1")
    run(partial(command_line(), prog_name="unseen"))
