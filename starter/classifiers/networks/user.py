"""UserNetwork: a network of the user's own, named ``module:function``.

The function takes the number of classes and returns what maps normalised images (n, 3, h, w) to logits
(n, k): an `nn.Module`, or anything else that can be called. With a method `stages`, images -> list of maps,
a module serves the detectors that read such maps. Its `mean` and `std`, where it has them, say how images are
normalised on [0, 1]; else that is done as for CIFAR-10. It keeps the weights that it comes with until a
weights file gives others, so the function should not need a file that those who are to run it lack.

Importing runs code. A weights file may name such a function, but reading the file never imports it: only
`use_network` does, and it is given what the user typed.
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
    """Import the function that ``module:function`` names; networks of that name can be built from now on.

    Raises:
        UnusableInput: as `user_function`.
    """
    _used[spec] = user_function(
        spec, "my_networks:wide_resnet", "take the number of classes and return a network"
    )


def user_function(spec: str, example: str, does: str) -> Callable[..., object]:
    """Import the function that ``module:function`` names.

    The working folder is appended to the import path, never put first: a file there cannot take an installed
    module's place.

    Args:
        spec: what the user typed.
        example: of such a spec.
        does: what the function must do, for messages.

    Raises:
        UnusableInput: there is no such module or function, or it fails on import.
    """
    module_name, _, name = spec.partition(":")
    if not all(map(str.isidentifier, (*module_name.split("."), name))):
        raise UnusableInput(f"{spec!r} is not module:function, as in {example}")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    importlib.invalidate_caches()  # the file may be newer than what was found in the folder before
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
    """Returns every spec that `use_network` was given in this process."""
    return tuple(_used)


class UserNetwork(BodyNetwork):
    """What the function of a spec returns.

    Attributes:
        code: the SHA-256 of the module's file, where it has one.

    Raises:
        UnusableInput: `use_network` was not called for the spec, or the function fails or returns something
            else than a network for `num_classes` classes.
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
    """What can be called and is no module: logits of a tensor (n, 3, h, w), as a tensor or an array."""

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
    """Returns what the user's function returns, and leaves the global generator alone."""
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
