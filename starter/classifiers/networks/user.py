"""Networks of the user's own, named ``module:function``.

The function takes the number of classes and returns a map from normalised images (n, 3, h, w) to logits
(n, k): an `nn.Module` or any other callable. A module with a method `stages`, images -> list of maps, can be
used with the detectors that read such maps. The attributes `mean` and `std`, if it has them, normalise images
on [0, 1]; otherwise CIFAR-10's do. The network keeps the weights that it comes with until a weights file
replaces them, so the function should not need a file that others who run it lack.

Importing runs code. A weights file may name such a function, but reading the file never imports it: only
`use_network` does, with the name that the user typed.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from starter.classifiers.networks.body import BodyNetwork, Triple
from starter.classifiers.specs import Spec, user_function
from submission.errors import UnusableInput
from submission.files import sha256

#: Of CIFAR-10 on [0, 1], as of the official weights: for networks and files that do not tell theirs.
CIFAR10: tuple[Triple, Triple] = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))

_used: dict[str, Callable[[int], object]] = {}


def use_network(spec: str) -> None:
    """Import the function that ``module:function`` names, and allow networks of that name to be built."""
    _used[spec] = user_function(
        spec, "my_networks:wide_resnet", "take the number of classes and return a network"
    )


def used_networks() -> tuple[str, ...]:
    """Returns every name that `use_network` was given in this process."""
    return tuple(_used)


def user_network(spec: Spec, classes: int) -> BodyNetwork:
    """Returns the network that the user's function gives; its `code` is the SHA-256 of the module's file."""
    if spec.network not in _used:
        raise UnusableInput(
            f"{spec.network[:100]!r} is not the kit's, and no file makes the kit run code: get its module, "
            "read it, and name it with --network module:function"
        )
    with torch.random.fork_rng(devices=[]):
        try:
            body = _used[spec.network](classes)
            if not callable(body):
                raise TypeError(f"it returns {type(body).__name__}, neither an nn.Module nor a function")
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise UnusableInput(f"{spec.network}({classes}) fails: {reason}") from error
    try:
        normalisation = _triple(body, "mean", CIFAR10[0]), _triple(body, "std", CIFAR10[1])
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnusableInput(
            f"{spec.network}: `mean` and `std` of the network must be three numbers each"
        ) from error
    source = getattr(sys.modules[spec.network.partition(":")[0]], "__file__", None)
    module = body if isinstance(body, nn.Module) else _Called(body)
    return BodyNetwork(spec, module, classes, normalisation, sha256(Path(source)) if source else "")


class _Called(nn.Module):
    """A callable that is not a module: from images (n, 3, h, w) to logits, as a tensor or an array."""

    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.function(x))

    def __deepcopy__(self, memo: object) -> "_Called":
        return _Called(self.function)


def _triple(body: object, name: str, usual: Triple) -> Triple:
    found = getattr(body, name, None)
    values = torch.as_tensor(usual if found is None else found, dtype=torch.float64)
    red, green, blue = values.flatten().tolist()
    return red, green, blue
