"""A user's own method: the template it starts from, and loading it by ``module:Class``."""

import importlib
import importlib.util
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from baselines.estimator import Direct, Estimator
from submission.errors import UnusableInput
from submission.files import write_text

TEMPLATE = Path(__file__).with_name("my_method.py")
MADE_OF = ("indicator", "needs", "regressor")
"""What a method of the kit is put together from: no parameters that a line of text could set."""


def new_method(name: str, folder: Path) -> Path:
    """Write ``<name>.py`` with a method that runs as it is, in `folder`. The path of the file.

    Raises:
        UnusableInput: `name` is no module name in lower case, is a word of Python, would hide another module,
            or the file exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UnusableInput(
            f"{name!r} cannot name a module: use lower-case letters, digits and _, as in my_method"
        )
    path = folder / f"{name}.py"
    if path.exists():
        raise UnusableInput(f"{path} exists already; name another method or remove it")
    if keyword.iskeyword(name):
        raise UnusableInput(f"{name!r} is a word of Python; choose another")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UnusableInput(f"{name!r} would hide an installed module of that name; choose another")
    text = (
        TEMPLATE.read_text(encoding="utf-8").replace("my_method", name).replace("MyMethod", class_name(name))
    )
    write_text(path, text)
    return path


def class_name(module: str) -> str:
    """The class in the file that `new_method` writes.

    >>> class_name("mean_margin")
    'MeanMargin'
    """
    return "".join(word.capitalize() for word in module.split("_"))


def load_method(spec: str) -> Estimator:
    """An instance, with its default parameters, of the class that ``module:Class`` names.

    The working folder is appended to the import path, never put first: a file there cannot take an
    installed module's place.

    Raises:
        UnusableInput: there is no such module or class, it fails on import, or it is no Estimator.
    """
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise UnusableInput(f"{spec!r} is not module:Class, as in my_method:MyMethod")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    importlib.invalidate_caches()  # the file may be newer than what was found in the folder before
    try:
        method_class = getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as error:
        raise UnusableInput(
            f"{spec}: no module named {error.name!r}, neither installed nor in {Path.cwd()}"
        ) from error
    except AttributeError as error:
        raise UnusableInput(f"{spec}: {error}") from error
    except (Exception, SystemExit) as error:
        raise UnusableInput(f"{spec}: the module fails on import: {type(error).__name__}: {error}") from error
    if not (isinstance(method_class, type) and issubclass(method_class, Estimator)):
        raise UnusableInput(f"{spec} is not a subclass of baselines.Estimator")
    try:
        return method_class()
    except TypeError as error:
        raise UnusableInput(f"{spec}: every argument of its constructor needs a default: {error}") from error


def set_parameters(methods: Mapping[str, Estimator], settings: Mapping[str, Mapping[str, object]]) -> None:
    """Set parameters (method -> parameter -> value) in place, as `--set METHOD.PARAM=VALUE` asks.

    Raises:
        UnusableInput: the method was not chosen, has no such parameter, or its value has another type.
    """
    for method, values in settings.items():
        if method not in methods:
            raise UnusableInput(
                f"--set {method}.*: {method!r} is not among the methods to run: {', '.join(methods)}"
            )
        parameters = methods[method].get_params(deep=False)
        if isinstance(methods[method], Direct):
            parameters = {name: value for name, value in parameters.items() if name not in MADE_OF}
        for name, value in values.items():
            if name not in parameters:
                known = ", ".join(parameters) or "none"
                raise UnusableInput(f"--set {method}.{name}: {method} has no such parameter; it has {known}")
            old = parameters[name]
            if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if old is not None and type(value) is not type(old):
                raise UnusableInput(
                    f"--set {method}.{name}: {value!r} is no {type(old).__name__}, as the default {old!r} is"
                )
            methods[method].set_params(**{name: value})
