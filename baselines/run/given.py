"""Methods as arguments of Python functions: the accepted types, and the names of methods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from sklearn.base import BaseEstimator

from baselines.contract.estimator import Direct, Estimator
from baselines.run.choose import check_name, choose
from baselines.run.tabular import Tabular, described, is_tabular
from submission.errors import UnusableInput, why

Given: TypeAlias = str | BaseEstimator
"""A name (of the kit, or ``module:Class``), a method, or a scikit-learn regressor."""


def methods_given(
    given: Given | Sequence[Given] | Mapping[str, Given], kit: Mapping[str, Estimator], track: str
) -> dict[str, Estimator]:
    """Returns the methods by name: the name in the kit, or the class with the parameters that were set.

    Args:
        given: One method or several; a mapping gives their names.
        kit: Methods of the kit by name.
        track: Track whose table of features a regressor learns from.
    """
    found: dict[str, Estimator] = {}
    if isinstance(given, Mapping):
        for name, each in given.items():
            check_name(name, each if isinstance(each, str) else "", kit)
            found[name] = method_of(each, kit, track)
        return found
    several = [given] if isinstance(given, str | BaseEstimator) or not isinstance(given, Iterable) else given
    for each in several:
        method = method_of(each, kit, track)
        name = each if isinstance(each, str) else name_of(method)
        if name in found:
            raise UnusableInput(f'two methods are called {name}: give names, as in {{"one": ...}}')
        found[name] = method
    if not found:
        raise UnusableInput("no method is given: name one or more")
    return found


def method_of(given: Given, kit: Mapping[str, Estimator], track: str) -> Estimator:
    """Returns the argument as a method."""
    if isinstance(given, str):
        return choose([given], [], kit, track)[given]
    if isinstance(given, Estimator):
        return given
    if is_tabular(given):
        return Tabular(given, track)
    if isinstance(given, type):
        raise UnusableInput(f"{given.__name__} is a class: give an instance, {given.__name__}()")
    raise UnusableInput(
        f"{type(given).__name__} is not a method: give a name, an unseen.Estimator, or a regressor"
    )


def name_of(method: Estimator) -> str:
    """Returns the name of a method: its class, with the parameters that differ from their defaults.

    >>> from baselines.accuracy.mano import Mano
    >>> name_of(Mano(normaliser="softmax"))
    "Mano(normaliser='softmax')"
    """
    if isinstance(method, Tabular):
        return described(method.regressor)
    if type(method) is Direct:
        return method.indicator.__name__
    try:
        return " ".join(repr(method).split()).removesuffix("()")
    except AttributeError as error:  # what scikit-learn raises for a parameter that is not kept
        raise UnusableInput(
            f"{type(method).__name__}: {why(error)}: store each argument of __init__ under its own name"
        ) from error
