"""UserNetwork: a network of the user's own, named ``module:function``.

The function takes the number of classes and returns a map from normalised images (n, 3, h, w) to logits
(n, k): an `nn.Module` or any other callable. A module with a method `stages`, images -> list of maps, can be
used with the detectors that read such maps. The attributes `mean` and `std`, if it has them, normalise images
on [0, 1]; otherwise CIFAR-10's do. The network keeps the weights that it comes with until a weights file
replaces them, so the function should not need a file that others who run it lack.

Importing runs code. A weights file may name such a function, but reading the file never imports it: only
`use_network` does, with the name that the user typed.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from starter.classifiers.networks.body import BodyNetwork
from submission.errors import UnusableInput
from submission.files import sha256

_used: dict[str, Callable[[int], object]] = {}


def use_network(spec: str) -> None:
    """Import the function that ``module:function`` names, and allow networks of that name to be built.

    Raises:
        UnusableInput: As for `user_function`.
    """
    _used[spec] = user_function(
        spec, "my_networks:wide_resnet", "take the number of classes and return a network"
    )


def user_function(spec: str, example: str, does: str) -> Callable[..., object]:
    """Import the function that ``module:function`` names.

    The working folder is appended to the import path, never put first: a file there cannot take an installed
    module's place.

    Args:
        spec: Name that the user typed.
        example: Example of such a name, for messages.
        does: Description of what the function must do, for messages.

    Raises:
        UnusableInput: There is no such module or function, or it fails on import.
    """
    module_name, _, name = spec.partition(":")
    if not all(map(str.isidentifier, (*module_name.split("."), name))):
        raise UnusableInput(f"{spec!r} is not module:function, as in {example}")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    importlib.invalidate_caches()  # the file may be newer than Python's list of the folder's files
    try:
        function = getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as error:
        raise UnusableInput(
            f"{spec}: no module named {error.name!r}, neither installed nor in {Path.cwd()}"
        ) from error
    except AttributeError as error:
        raise UnusableInput(f"{spec}: {error}") from error
    except (Exception, SystemExit) as error:
        raise UnusableInput(f"{spec}: the module fails on import: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise UnusableInput(f"{spec} is no function: it must {does}")
    return function


def used_networks() -> tuple[str, ...]:
    """Returns every name that `use_network` was given in this process."""
    return tuple(_used)


class UserNetwork(BodyNetwork):
    """The network that the user's function returns.

    Attributes:
        code: SHA-256 of the module's file, if it has one.

    Raises:
        UnusableInput: `use_network` was not called for the name, or the function fails or returns something
            other than a network for `num_classes` classes.
    """

    def __init__(self, spec: str, num_classes: int, layer: str = "") -> None:
        if spec not in _used:
            raise UnusableInput(
                f"{spec[:100]!r} is not the kit's, and no file makes the kit run code: get its module, "
                "read it, and name it with --network module:function"
            )
        super().__init__(spec, _called(spec, num_classes), num_classes, layer)
        source = getattr(sys.modules[spec.partition(":")[0]], "__file__", None)
        self.code = sha256(Path(source)) if source else ""


class _Called(nn.Module):
    """A callable that is not a module: from images (n, 3, h, w) to logits, as a tensor or an array."""

    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function
        for name in ("mean", "std"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.function(x))

    def __deepcopy__(self, memo: object) -> "_Called":
        return _Called(self.function)


def _called(spec: str, num_classes: int) -> nn.Module:
    """Returns the result of the user's function, without a change to the global random generator."""
    with torch.random.fork_rng(devices=[]):
        try:
            network = _used[spec](num_classes)
        except (Exception, SystemExit) as error:
            raise UnusableInput(f"{spec}({num_classes}) fails: {type(error).__name__}: {error}") from error
    if isinstance(network, nn.Module):
        return network
    if not callable(network):
        raise UnusableInput(
            f"{spec}({num_classes}) returns {type(network).__name__}, neither an nn.Module nor a function"
        )
    return _Called(network)
