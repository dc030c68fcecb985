"""Names of a package that are imported when they are asked for (PEP 562): its commands start at once."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Returns the `__getattr__` of a package.

    Args:
        package: Its name.
        homes: A name, and the module that has it.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get
