"""Loading a user's own method by ``module:Class``."""

import importlib
import sys
from pathlib import Path

from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import told
from baselines.run.tabular import Tabular, is_tabular, no_regressor
from starter.observing.observation import NEEDS
from submission.errors import UnusableInput


def class_name(module: str) -> str:
    """Returns the name of the class in the file that `unseen new-method` writes.

    >>> class_name("mean_margin")
    'MeanMargin'
    """
    return "".join(word.capitalize() for word in module.split("_"))


def load_method(spec: str, track: str = "accuracy") -> Estimator:
    """Returns an instance, with default parameters, of the class named ``module:Class`` or ``file.py:Class``.

    ``module:name`` of a scikit-learn regressor, or of a pipeline that ends in one, is returned as a method on
    the track's table of features. The working folder, or the file's, is appended at the end of the import
    path, so that a file there cannot replace an installed module.
    """
    module, _, name = spec.partition(":")
    folder = Path.cwd()
    if module.endswith(".py"):
        folder, module = folder.joinpath(module).parent, Path(module).stem
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
        raise UnusableInput(f"{spec}: {told(error, folder.joinpath(*module.split('.')).parent)}") from error
    raise UnusableInput(f"{spec}: {problem}")
