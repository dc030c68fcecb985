"""The library in ten names, each imported when it is asked for, and the table of all commands.

`import unseen` takes next to no time. It makes sure that the kit's five packages are imported from the folder
of this file, even if the working folder has files of the same names (docs/decisions/0104-ten-names.md).
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
    from leaderboard.api import leaderboard as leaderboard
    from leaderboard.api import score as score
    from oracle.api.contest import Contest as Contest
    from oracle.api.contest import build as build
    from oracle.api.contest import open as open
    from oracle.api.evaluate import Evaluation as Evaluation
    from oracle.api.evaluate import evaluate as evaluate
    from oracle.api.kit import methods as methods
    from oracle.api.predict import predict as predict
    from oracle.estimate.estimation import Estimation as Estimation
    from oracle.estimate.from_logits import estimate as estimate
    from starter.observing.observation import MetaTrain as MetaTrain
    from starter.observing.observation import Observation as Observation
    from starter.observing.observation import Source as Source
    from submission.errors import InvalidSubmission as InvalidSubmission
    from submission.errors import UnusableInput as UnusableInput
    from submission.metrics import Score as Score

PACKAGES = ("submission", "starter", "baselines", "oracle", "leaderboard")
HERE = Path(__file__).resolve().parent
NAMES = {
    "open": "oracle.api.contest",
    "build": "oracle.api.contest",
    "predict": "oracle.api.predict",
    "evaluate": "oracle.api.evaluate",
    "score": "leaderboard.api",
    "leaderboard": "leaderboard.api",
    "methods": "oracle.api.kit",
    "estimate": "oracle.estimate.from_logits",
    "Estimator": "baselines.contract.estimator",
    "Observation": "starter.observing.observation",
}
"""The functions and classes of the library, each with the module that defines it."""
TYPES = {
    "Contest": "oracle.api.contest",
    "Evaluation": "oracle.api.evaluate",
    "Estimation": "oracle.estimate.estimation",
    "Source": "starter.observing.observation",
    "MetaTrain": "starter.observing.observation",
    "Score": "submission.metrics",
    "InvalidSubmission": "submission.errors",
    "UnusableInput": "submission.errors",
}
"""The types of the library's arguments and results, and its errors, each with the module that defines it."""
COMMANDS = {
    "demo": ("oracle.commands", "Build, predict and score a small embedded competition."),
    "build": ("starter.build.commands", "Build a competition, or finish an interrupted build."),
    "train": ("starter.build.commands", "Train a classifier for build's --classifier."),
    "show": ("starter.competition.commands", "Draw sets, and a histogram of accuracies, as PNG files."),
    "materialize": ("starter.competition.commands", "Write sets as files; run again to continue."),
    "methods": ("oracle.commands", "List the methods with their inputs and parameters."),
    "new-method": ("baselines.run.commands", "Write NAME.py, a complete method for you to change."),
    "check-method": ("oracle.commands", "Check on artificial sets that a method keeps the contract."),
    "predict": ("oracle.commands", "Fit methods and write predictions."),
    "report": ("oracle.commands", "Fit methods and compare them on the validation sets."),
    "ablate": ("oracle.commands", "Reproduce a table of the SYP or the Gscore paper."),
    "estimate": ("oracle.estimate.commands", "Estimate a model's accuracy on images without labels."),
    "validate": ("submission.commands", "Check a submission."),
    "score": ("leaderboard.commands", "Score predictions: --val, or --team NAME (organizers)."),
    "select": ("leaderboard.commands", "Choose the submissions of a team that count (organizers)."),
    "history": ("leaderboard.commands", "List submissions with their scores, or receipts."),
    "leaderboard": ("leaderboard.commands", "Write leaderboard.csv, .html and .md."),
    "rescore": ("leaderboard.commands", "Correct labels or void test sets (organizers)."),
    "verify": ("leaderboard.commands", "Check that nobody altered the ledger (organizers)."),
    "backup": ("leaderboard.commands", "Write the organizer's private files to one zip file."),
    "verify-entry": ("oracle.commands", "Run a method again and compare with a submitted file."),
    "audit": (
        "leaderboard.commands",
        "List risks: revealed labels, and ranks that are accidents.",
    ),
    "pack": ("submission.commands", "Make the archive for participants from public/ alone."),
    "export": ("leaderboard.commands", "Write the competition for another platform."),
    "classes similarity": ("starter.meaning.commands", "Assign classes by distance to the nearest ID class."),
    "classes pruning": ("starter.meaning.commands", "Drop classes that could be mistaken for an ID class."),
    "classes halves": ("starter.meaning.commands", "Draw validation and test halves from a class manifest."),
    "classes graph": ("starter.studies.commands", "Draw which ID classes a manifest's images are taken for."),
    "shift encoder": ("starter.encoders.commands", "Train a small encoder of photographs for shift laid."),
    "shift laid": ("starter.studies.commands", "Separate an encoder's features into meaning and style."),
    "shift measure": ("starter.studies.commands", "Measure each image's shift in meaning and in style."),
    "shift grid": ("starter.studies.commands", "Show how well OOD detectors do as shifts grow."),
    "shift generate": ("starter.synis.commands", "Generate images whose shift grows step by step (Syn-IS)."),
    "detectors failure": ("starter.studies.commands", "Show whether detectors find new classes or errors."),
    "detectors sanity": ("starter.studies.commands", "Run OOD detectors on random networks."),
}
"""Every command with the module of its function and that function's first line, in the order of the work."""
GROUPS = {
    "classes": "Assign classes to ID or OOD by meaning, with WordNet.",
    "shift": "Measure shifts in meaning and shifts in style separately.",
    "detectors": "Study what OOD detectors detect.",
}
"""The first word of every command of two words, with its line in the help."""


class Beside:
    """Finder that takes the kit's packages from the folder of this file, before any place on the path."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Returns the location of a package of the kit; None for any other module."""
        return PathFinder.find_spec(name, [str(HERE)]) if name in PACKAGES else None


def find_own_packages() -> None:
    """Import the kit's packages from the folder of this file, and warn of other packages of the same names.

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
    from submission.command_line import command_line as made

    return made(COMMANDS, GROUPS)


def main() -> None:
    """Run the command line.

    Sets OMP_WAIT_POLICY to passive, unless it is set, so that PyTorch's threads sleep while they wait.
    Threads that spin are several times slower as soon as another program runs, and hardly faster if none
    does.
    """
    from submission.exits import run

    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if not sys.stderr.isatty():  # a log is no place for progress bars
        os.environ.setdefault("TQDM_DISABLE", "1")
    run(partial(command_line(), prog_name="unseen"))


if __name__ == "__main__":
    main()
