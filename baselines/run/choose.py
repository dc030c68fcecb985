"""Functions that choose methods by name or object, a user's own too, set their parameters, and list them."""

import importlib
import json
import re
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from sklearn.base import BaseEstimator, clone

from baselines.contract.estimator import Estimator
from baselines.contract.guard import told
from baselines.run.tabular import Tabular, described, is_tabular, no_regressor
from starter.observing.observation import NEEDS, unmet
from submission import Competition
from submission.errors import UnusableInput

Given: TypeAlias = str | BaseEstimator
"""A name (of the kit, or ``module:Class``), a method, or a scikit-learn regressor."""
EXPECTED = (
    "yours is a module:Class, or in Python an object of a subclass of unseen.Estimator or a regressor of "
    "scikit-learn"
)


def choose(
    names: Sequence[str],
    settings: Iterable[str],
    kit: Mapping[str, Estimator],
    track: str = "accuracy",
    called: Sequence[str] = (),
    device: str = "cpu",
) -> dict[str, Estimator]:
    """Returns copies of the named methods, `called` so in this run, after lines ``METHOD.PARAM=VALUE``.

    A `device` other than the CPU is that of all with such a parameter, unless a line names it.
    """
    if called and len(called) != len(names):
        raise UnusableInput(f"give --as once per METHOD, in the same order: {len(names)}, not {len(called)}")
    chosen = _chosen(zip(called or names, names, strict=True), kit, track, device)
    for setting in settings:
        set_parameter(chosen, setting)
    return chosen


def methods_given(
    given: Given | Sequence[Given] | Mapping[str, Given],
    kit: Mapping[str, Estimator],
    track: str,
    device: str = "cpu",
) -> dict[str, Estimator]:
    """Returns the methods by name: of a mapping, of the kit, or the class with the parameters set.

    Those given by name compute on the `device`; objects are as they were made.
    """
    if isinstance(given, Mapping):
        return _chosen(given.items(), kit, track, device)
    several = [given] if isinstance(given, str | BaseEstimator) or not isinstance(given, Iterable) else given
    return _chosen([(described(each), each) for each in several], kit, track, device)


def _chosen(
    named: Iterable[tuple[str, Given]], kit: Mapping[str, Estimator], track: str, device: str
) -> dict[str, Estimator]:
    """Returns copies of the methods by the name of each in a run, after which a file is named."""
    found: dict[str, Estimator] = {}
    for name, given in named:
        if name in found:
            raise UnusableInput(f'two methods are called {name}: give names (--as, or {{"one": ...}})')
        found[name] = _copied(_method_of(given, kit, track))
        if isinstance(given, str) and device != "cpu" and "device" in found[name].parameters():
            found[name].set_parameters({"device": device})
        if name in (given, described(given)):
            continue
        if name in kit or not re.fullmatch(r"[\w(][\w.,=()+ -]{0,99}", name):
            wrong = f"{name} is a method of the kit" if name in kit else f"{name!r} cannot name a method"
            raise UnusableInput(f"{wrong}: give yours another name, of letters, digits and . , = ( ) + - _")
    return found


def _copied(method: Estimator) -> Estimator:
    """Returns a new method of the same parameters, whose `needs` are fields."""
    name = type(method).__name__
    if not isinstance(method.needs, tuple) or not {*method.needs} <= {*NEEDS}:
        raise UnusableInput(f"{name}: needs must be a tuple of names among {', '.join(NEEDS)}")
    try:
        return clone(method)
    except (RuntimeError, TypeError) as error:
        raise UnusableInput(f"{name}: __init__ must store its arguments as they are ({error})") from error


def _method_of(given: Given, kit: Mapping[str, Estimator], track: str) -> Estimator:
    """Returns the argument as a method."""
    if isinstance(given, str) and ":" in given:
        return load_method(given, track)
    if isinstance(given, str) and given in kit:
        return kit[given]
    if isinstance(given, Estimator):
        return given
    if is_tabular(given):
        return Tabular(given, track)
    if problem := no_regressor(given):
        raise UnusableInput(problem)
    if not isinstance(given, str):
        raise UnusableInput(f"{given!r} is no method: {EXPECTED}")
    module = given.removesuffix(".py")
    meant = f"the {track} track has {', '.join(kit)}."
    if Path(f"{module}.py").is_file():
        meant = f"did you mean {module}:NAME, by the name of its class or pipeline?"
    elif alike := get_close_matches(given.lower(), kit, 1):
        meant = f"did you mean {alike[0]}?"
    raise UnusableInput(f"there is no method {given!r}: {meant} {EXPECTED}")


def choose_for(
    competition: Competition,
    names: Sequence[str],
    settings: Iterable[str],
    kit: Mapping[str, Estimator],
    unnamed: Sequence[str],
    called: Sequence[str] = (),
    device: str = "cpu",
) -> tuple[dict[str, Estimator], dict[str, str]]:
    """Returns the methods to run, by default those of `unnamed` that can, and why others are left out."""
    left_out = {} if names else impossible(competition, {name: kit[name] for name in unnamed})
    named = names or [name for name in unnamed if name not in left_out]
    chosen = choose(named, settings, kit, competition.track, called=called, device=device)
    for name, reason in impossible(competition, chosen).items():
        raise UnusableInput(f"{name} cannot run on {competition.root}: {reason}")
    return chosen, left_out


def impossible(competition: Competition, methods: Mapping[str, Estimator]) -> dict[str, str]:
    """Returns the methods that cannot run on a competition, each with the reason."""
    reasons = {name: unmet(method.needs, competition) for name, method in methods.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def set_parameter(methods: Mapping[str, Estimator], setting: str) -> None:
    """Set a parameter in place by a line METHOD.PARAM=VALUE; a value is JSON, or else text."""
    target, _, text = setting.partition("=")
    name, _, parameter = target.rpartition(".")
    if not (name and parameter and text):
        raise UnusableInput(
            f"--set {reprlib.repr(setting)} is not METHOD.PARAM=VALUE; METHOD is {' or '.join(methods)}"
        )
    known = methods[name].parameters() if name in methods else {}
    if parameter not in known:
        has = f"{name} has no such parameter; it has {', '.join(known) or 'none'}"
        among = f"{name!r} is not among the methods to run: {', '.join(methods)}"
        raise UnusableInput(f"--set {target}: {has if name in methods else among}")
    try:
        value = json.loads(text)
    except ValueError:  # no JSON
        value = text
    methods[name].set_parameters({parameter: _like(known[parameter], value, target)})


def _like(old: object, value: object, target: str) -> object:
    """Returns `value` with the type of `old`; if `old` is None, any type is accepted."""
    if isinstance(old, float) and type(value) is int:
        value = float(value)
    if old is not None and type(value) is not type(old):
        wrong = f"is no {type(old).__name__}, as the default {old!r} is"
        raise UnusableInput(f"--set {target}: {reprlib.repr(value)} {wrong}")
    return value


def listing(methods: Mapping[str, Estimator], runs: Mapping[str, str]) -> str:
    """Returns a text about each method: its summary, what it reads, when it `runs`, and its parameters."""
    lines = [
        "Every method reads logits (in the OOD track also scores); its other inputs are in brackets.",
        "",
    ]
    for name, method in methods.items():
        read = [*method.needs, *(f"{want} if available" for want in method.wants)]
        reads = f" [{', '.join(read)}]" if read else ""
        lines.append(f"{name:<14} {method.summary}{reads}")
        lines.append(f"{'':<14} runs {runs[name]}")
        if own := method.parameters():
            lines.append(f"{'':<14} --set " + " ".join(f"{name}.{key}={value}" for key, value in own.items()))
    return "\n".join(lines)


def class_name(module: str) -> str:
    """Returns the name of the class in the file of `unseen new-method`: MeanMargin in ``mean_margin.py``."""
    return "".join(word.capitalize() for word in module.split("_"))


def load_method(spec: str, track: str = "accuracy") -> Estimator:
    """Returns the method ``module:Class`` or ``file.py:Class``, or ``module:name`` of a regressor."""
    # The working folder, or the file's, comes last on the import path, so that no file there hides a module.
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
        if isinstance(made, Estimator) or is_tabular(made):
            return _copied(Tabular(made, track) if is_tabular(made) else made)
        problem = no_regressor(made) or f"{name} is no method: {EXPECTED}"
    except (Exception, SystemExit) as error:
        problem = told(error, folder.joinpath(*module.split(".")).parent)
        raise UnusableInput(f"{spec}: {problem}{_meant(error, folder)}") from error
    raise UnusableInput(f"{spec}: {problem}")


def _meant(error: BaseException, folder: Path) -> str:
    """Returns where a module that lacks a class is, and which module or class has nearly the missing name."""
    place = ""
    known: Iterable[str] = ()
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        place = f" in {error.obj.__file__}"  # perhaps an installed module, in place of the user's own
        known = vars(error.obj)
    elif isinstance(error, ModuleNotFoundError):
        known = [file.stem for file in folder.glob("*.py")]
    close = get_close_matches(getattr(error, "name", None) or "", known, 1)
    return f"{place}; did you mean {close[0]}?" if close else place
