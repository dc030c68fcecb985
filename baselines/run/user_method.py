"""Loading a user's own method by ``module:Class``."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import told
from baselines.run.tabular import Tabular, is_tabular, no_regressor
from starter.observing.observation import NEEDS
from submission.errors import UnusableInput


def class_name(module: str) -> str:
    """Returns the name of the class in the file of `unseen new-method`: MeanMargin in ``mean_margin.py``."""
    return "".join(word.capitalize() for word in module.split("_"))


def load_method(spec: str, track: str = "accuracy") -> Estimator:
    """Returns the method ``module:Class`` or ``file.py:Class``, or ``module:name`` of a regressor.

    The working folder, or the file's, comes last on the import path, so that no file there hides a module.
    """
    module, _, name = spec.partition(":")
    folder = Path.cwd()
    if module.endswith(".py"):
        folder = folder.joinpath(module).parent
        module = Path(module).stem
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()  # the file may be newer than what was found in the folder before
    try:
        found = getattr(importlib.import_module(module), name)
        made = found() if isinstance(found, type) else found
        if not (problem := no_regressor(made)):
            method = Tabular(made, track) if is_tabular(made) else clone(made)
            if not isinstance(method.needs, tuple) or not {*method.needs} <= {*NEEDS}:
                raise ValueError(f"needs must be a tuple of names among {', '.join(NEEDS)}")
            return method
    except (Exception, SystemExit) as error:
        if hidden := _hidden(error, folder):
            text = "is not imported, since an installed module has its name: rename that file"
            raise UnusableInput(f"{spec}: {hidden} {text}") from error
        raise UnusableInput(f"{spec}: {told(error, folder.joinpath(*module.split('.')).parent)}") from error
    raise UnusableInput(f"{spec}: {problem}")


def _hidden(error: BaseException, folder: Path) -> Path | None:
    """Returns the file of `folder` in whose place a failed import found an installed module, if any."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        module = error.obj.__name__
    elif isinstance(error, ImportError) and error.name:
        module = error.name
    else:
        return None
    name = module.partition(".")[0]
    place = getattr(sys.modules.get(name), "__file__", None)
    if place and folder.resolve() not in Path(place).resolve().parents:
        if (folder / f"{name}.py").is_file():
            return folder / f"{name}.py"
        if any((folder / name).glob("*.py")):
            return folder / name
    return None
