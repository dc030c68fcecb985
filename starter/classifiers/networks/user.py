"""UserNetwork: a network of the user's own, named ``module:function``.

The function takes the number of classes and returns an `nn.Module` that maps normalised images (n, 3, h, w)
to logits (n, k), as its last `nn.Linear` gives them. With a method `stages`, images -> list of maps, it
serves the detectors that read such maps. Its `mean` and `std`, where it has them, say how images are
normalised on [0, 1]; else that is done as for CIFAR-10. It keeps the weights that it comes with until a
weights file gives others, so the function should not need a file that those who are to run it lack.

Importing runs code. A weights file may name such a function, but reading the file never imports it: only
`use_network` does, and it is given what the user typed.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from starter.classifiers.networks.network import Network
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
    """Every spec that `use_network` was given in this process."""
    return tuple(_used)


class UserNetwork(Network):
    """What the function of a spec returns, in float32, with the input of its last linear layer as features.

    Attributes:
        spec: module:function.
        code: the SHA-256 of the module's file, where it has one.

    Raises:
        UnusableInput: `use_network` was not called for the spec, or the function fails or returns something
            else than a network for `num_classes` classes.
    """

    def __init__(self, spec: str, num_classes: int) -> None:
        super().__init__()
        if spec not in _used:
            raise UnusableInput(
                f"{spec[:100]!r} is not the kit's, and no file makes the kit run code: get its module, "
                "read it, and name it with --network module:function"
            )
        self.spec = spec
        self.body = _called(spec, num_classes).float()
        linear = [module for module in self.body.modules() if isinstance(module, nn.Linear)]
        if not linear or linear[-1].out_features != num_classes:
            outputs = f"{linear[-1].out_features} outputs" if linear else "no nn.Linear"
            raise UnusableInput(
                f"{spec}({num_classes}) must end in an nn.Linear to {num_classes}, has {outputs}"
            )
        if not all(isinstance(value, Tensor) for value in self.body.state_dict().values()):
            raise UnusableInput(f"{spec}: its state_dict() holds more than tensors")
        source = getattr(sys.modules[spec.partition(":")[0]], "__file__", None)
        self.code = sha256(Path(source)) if source else ""

    @property
    def head(self) -> nn.Linear:
        """The last `nn.Linear` in the order of definition."""
        return [module for module in self.body.modules() if isinstance(module, nn.Linear)][-1]

    def features(self, x: Tensor) -> Tensor:
        """What the last linear layer reads, float32 (n, d).

        Raises:
            UnusableInput: the network fails, or its output is not that layer's.
        """
        calls: list[tuple[Tensor, Tensor]] = []
        with self.head.register_forward_hook(lambda _, inputs, output: calls.append((inputs[0], output))):
            try:
                logits = self.body(x)
            except Exception as error:
                raise UnusableInput(
                    f"{self.spec} fails on images of shape {tuple(x.shape)}: {type(error).__name__}: {error}"
                ) from error
        features, output = calls[-1] if calls else (x, None)
        if features.ndim != 2 or output is None or not (output is logits or torch.equal(output, logits)):
            raise UnusableInput(
                f"{self.spec}: the logits must be what its last nn.Linear gives, (n, k) from features (n, d)"
            )
        return features.float()

    def stages(self, x: Tensor) -> list[Tensor]:
        """The maps that the user's own `stages` gives.

        Raises:
            UnusableInput: it has none.
        """
        maps = getattr(self.body, "stages", None)
        if not inspect.ismethod(maps):
            raise UnusableInput(f"{self.spec}: the network has no stages(x), a list of maps (n, c, h, w)")
        return maps(x)

    def folded(self) -> "UserNetwork":
        """Itself: nothing is known of its operations."""
        return self

    def triple(self, name: str) -> tuple[float, float, float] | None:
        """The module's `mean` or `std`, if it has one.

        Raises:
            UnusableInput: it is not three numbers.
        """
        given = getattr(self.body, name, None)
        if given is None:
            return None
        try:
            red, green, blue = torch.as_tensor(given, dtype=torch.float64).flatten().tolist()
        except (RuntimeError, TypeError, ValueError) as error:
            raise UnusableInput(f"{self.spec}: `{name}` of the network must be three numbers") from error
        return red, green, blue


def _called(spec: str, num_classes: int) -> nn.Module:
    """What the function returns; the global generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        try:
            network = _used[spec](num_classes)
        except (Exception, SystemExit) as error:
            raise UnusableInput(f"{spec}({num_classes}) fails: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module):
        raise UnusableInput(f"{spec}({num_classes}) returns {type(network).__name__}, not an nn.Module")
    return network
