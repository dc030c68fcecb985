"""A user's own method: writing it from a template, and loading it by ``module:Class``."""

import importlib
import importlib.util
import inspect
import keyword
import re
import reprlib
import sys
from pathlib import Path
from types import ModuleType

from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import folder_of, told
from baselines.run.tabular import Tabular, is_tabular
from starter.observing.observation import NEEDS
from submission.errors import UnusableInput
from submission.files import write_text

TEMPLATES = {"accuracy": "my_method", "ood": "my_ood_method"}
"""Name of the template for a method, by track."""
SKLEARN = "my_regressor"
"""Name of the template for a scikit-learn regressor."""
KIT = ("submission", "starter", "baselines", "oracle", "leaderboard", "unseen")
"""Names of the kit's packages, which a method's file cannot have."""
MODEL = "model"
"""Name of the regressor in its template."""


def new_method(name: str, folder: Path, track: str = "accuracy", sklearn: bool = False) -> Path:
    """Write ``<name>.py`` with a complete method into `folder`, and return its path.

    With `sklearn` the file holds a scikit-learn pipeline, ``<name>:model``.
    """
    if track not in TEMPLATES:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(TEMPLATES)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UnusableInput(
            f"{name!r} cannot name a module: use lower-case letters, digits and _, such as my_method"
        )
    path = folder / f"{name}.py"
    if path.exists():
        raise UnusableInput(f"{path} exists already; choose another name, or remove the file")
    if keyword.iskeyword(name) or keyword.iskeyword(class_name(name)):
        raise UnusableInput(f"{name!r} is a keyword of Python; choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UnusableInput(f"{name!r} would hide an installed module of that name; choose another name")
    template = SKLEARN if sklearn else TEMPLATES[track]
    text = Path(__file__).with_name(f"{template}.py").read_text(encoding="utf-8")
    write_text(path, text.replace(template, name).replace(class_name(template), class_name(name)))
    return path


def class_name(module: str) -> str:
    """Returns the name of the class in the file that `new_method` writes.

    >>> class_name("mean_margin")
    'MeanMargin'
    """
    return "".join(word.capitalize() for word in module.split("_"))


def load_method(spec: str, track: str = "accuracy") -> Estimator:
    """Returns an instance, with default parameters, of the class named ``module:Class``.

    ``module:name`` of a scikit-learn regressor, or of a pipeline that ends in one, is returned as a method on
    the track's table of features. The working folder is appended at the end of the import path, so that a
    file there cannot replace an installed module.
    """
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise UnusableInput(f"{spec!r} is not of the form module:Class, such as my_method:MyMethod")
    if module_name in KIT:
        raise UnusableInput(
            f"{spec}: {module_name} is a package of the kit; rename your file {module_name}.py"
        )
    module = _imported(spec, module_name)
    if not hasattr(module, name):
        raise UnusableInput(f"{spec}: module {module_name!r} has no attribute {name!r}")
    method_class = getattr(module, name)
    if is_tabular(method_class):
        return Tabular(method_class, track)
    if not (isinstance(method_class, type) and issubclass(method_class, Estimator)):
        raise UnusableInput(f"{spec} is neither a subclass of unseen.Estimator nor a scikit-learn regressor")
    method = _made(spec, method_class)
    needs = method.needs
    if not isinstance(needs, tuple) or not all(isinstance(need, str) and need in NEEDS for need in needs):
        raise UnusableInput(
            f'{spec}: needs must be a tuple of names among {", ".join(NEEDS)}, as in ("{NEEDS[0]}",); '
            f"got {reprlib.repr(needs)}"
        )
    return method


def _imported(spec: str, name: str) -> ModuleType:
    """Returns the module, installed or in the working folder."""
    folder = Path.cwd()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()  # the file may be newer than what was found in the folder before
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UnusableInput(
            f"{spec}: no module named {error.name!r}, neither installed nor in {folder}"
        ) from error
    except (Exception, SystemExit) as error:
        place = folder.joinpath(*name.split(".")).parent
        raise UnusableInput(f"{spec}: the module fails on import: {told(error, place)}") from error


def _made(spec: str, method_class: type[Estimator]) -> Estimator:
    """Returns an instance that scikit-learn can clone."""
    folder = folder_of(method_class)
    try:
        inspect.signature(method_class).bind()
    except TypeError as error:
        raise UnusableInput(f"{spec}: every argument of its constructor needs a default: {error}") from error
    try:
        method = method_class()
    except (Exception, SystemExit) as error:
        raise UnusableInput(f"{spec}: its constructor fails: {told(error, folder)}") from error
    try:
        clone(method)
    except (Exception, SystemExit) as error:
        raise UnusableInput(
            f"{spec}: its constructor must store each argument unchanged in an attribute of its name: "
            f"{told(error, folder)}"
        ) from error
    return method
