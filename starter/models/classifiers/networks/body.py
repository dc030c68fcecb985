"""BodyNetwork: any module that gives logits, as a Network, with features if a linear layer gives them.

A network of the user's own is named ``module:function``. The function takes the number of classes and returns
a map from normalised images (n, 3, h, w) to logits (n, k): an `nn.Module` or any other callable. A module
with a method `stages`, images -> list of maps, can be used with the detectors that read such maps. Its
attributes `mean` and `std`, if any, normalise images on [0, 1]; otherwise CIFAR-10's do. It keeps the weights
that it comes with until a weights file replaces them, so the function should not need a file that others who
run it lack.

Importing runs code. A weights file may name such a function, but reading the file never imports it: only
`use_network` does, with the name that the user typed.
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from starter.models.classifiers.batches import Call, gives, linear_calls, logits_of
from starter.models.classifiers.networks.network import Network
from starter.models.classifiers.specs import Spec, user_function
from submission.errors import UnusableInput
from submission.files import sha256

BODY = "body."
NO_LAYER = "none"
"""Name given in place of a layer's, if no linear layer gives the logits."""
TRIED = 2
"""Number of images on which a network is tried."""

Triple = tuple[float, float, float]
#: Of CIFAR-10 on [0, 1], as of the official weights: for networks and files that do not tell theirs.
CIFAR10: tuple[Triple, Triple] = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))

_used: dict[str, Callable[[int], object]] = {}


class BodyNetwork(Network):
    """A module that maps images to logits; the input of the linear layer that gives them is the features.

    Without such a layer (but a mean of a convolution's maps or of two heads, say), it has no head, and no
    features other than the logits. `layer` is the layer's name in `body`; "" for the last defined, `NO_LAYER`
    if there is none. `normalisation` is mean and standard deviation of the input on [0, 1].
    """

    def __init__(
        self, spec: Spec, body: nn.Module, classes: int, normalisation: tuple[Triple, Triple], code: str = ""
    ) -> None:
        super().__init__()
        self.spec = spec.network
        self.body = body.float()
        self.layer = spec.layer
        self.normalisation = normalisation
        self.code = code
        if spec.own_code:
            self.layout = torch.contiguous_format  # in which `x.view(len(x), -1)` works
        fitting = [name for name, layer in self._linear().items() if layer.out_features == classes]
        if not self.layer:
            self.layer = "" if self.head is not None and self.head.out_features == classes else NO_LAYER
        elif self.layer not in (*fitting, NO_LAYER):
            there = " or ".join(f"@{name}" for name in [*fitting, NO_LAYER])
            raise UnusableInput(
                f"{spec.arch}: no nn.Linear to {classes} classes is called {self.layer!r}; write {there}"
            )

    @property
    def arch(self) -> str:
        """The architecture's name in a weights file: spec, and layer unless it is the last one defined."""
        return f"{self.spec}@{self.layer}" if self.layer else self.spec

    @property
    def head(self) -> nn.Linear | None:
        """The linear layer that gives the logits; None if there is none."""
        if self.layer == NO_LAYER:
            return None
        linear = self._linear()
        return linear[self.layer] if self.layer else next(reversed(linear.values()), None)

    def _linear(self) -> dict[str, nn.Linear]:
        """Returns the linear layers by name, in the order of definition."""
        return {name: each for name, each in self.body.named_modules() if isinstance(each, nn.Linear)}

    def find_head(self, size: tuple[int, int], classes: int) -> None:
        """Try the network on images of a size (height, width), and find the linear layer of its logits."""
        x = torch.randn(TRIED, 3, *size, generator=torch.Generator().manual_seed(0))
        linear, training = self._linear(), self.training
        try:
            with torch.inference_mode(), linear_calls() as calls:
                logits = self.eval()._run(x)
        finally:
            self.train(training)
        problem = ""
        if logits.shape != (TRIED, classes):
            wanted = f"{classes} classes ask for ({TRIED}, {classes})"
            problem = f"outputs {tuple(logits.shape)} for {TRIED} images: {wanted}"
        elif bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(TRIED), atol=1e-3):
            problem = "probabilities: logits are asked for, as before its softmax"
        if problem:
            raise UnusableInput(f"{self.spec} gives {problem}")
        names = {layer: name for name, layer in linear.items()}
        latest = {call[0]: call for call in calls if call[0] in names}
        found = [names[layer] for layer, call in latest.items() if gives(call, logits)]
        last = next(reversed(linear), None)
        self.layer = NO_LAYER if not found else "" if last in found else found[-1]

    def features(self, x: Tensor) -> Tensor:
        """Returns the input of the layer that gives the logits, float32 (n, d); without one, the logits."""
        head = self.head
        if head is None:
            return self._run(x).float()
        calls = list[Call]()
        with head.register_forward_hook(lambda _, inputs, output: calls.append((head, inputs[0], output))):
            logits = self._run(x)
        followed = torch.jit.is_tracing() or torch.compiler.is_compiling()  # they would take it for a branch
        if not calls or not (followed or gives(calls[-1], logits)):
            layer = self.layer or "that was defined last"
            raise UnusableInput(
                f"{self.spec}: its nn.Linear {layer} does not give the logits (n, k) from features (n, d); "
                f"name another as {self.spec}@LAYER, or {self.spec}@{NO_LAYER} for logits alone"
            )
        return calls[-1][1].float()

    def _run(self, x: Tensor) -> Tensor:
        """Returns the module's logits; the module is the user's, so that anything may go wrong in it."""
        try:
            output = self.body(x)
        except Exception as error:
            (height, width), reason = x.shape[2:], f"{type(error).__name__}: {error}"
            raise UnusableInput(
                f"{self.spec} fails on images of {width} x {height} pixels ({reason}): "
                "give it images of a size that it takes (--image-size, for a --source of your own)"
            ) from error
        return logits_of(output, who=self.spec)

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the feature maps that the module's own method `stages` gives."""
        maps = getattr(self.body, "stages", None)
        if not inspect.ismethod(maps):
            raise UnusableInput(f"{self.spec}: the network has no stages(x), a list of maps (n, c, h, w)")
        return maps(x)

    def folded(self) -> "BodyNetwork":
        """Returns itself: the kit does not know which of its operations could be merged."""
        return self


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
            normalisation = _triple(body, "mean", CIFAR10[0]), _triple(body, "std", CIFAR10[1])
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise UnusableInput(f"{spec.network}({classes}) fails: {reason}") from error
    source = getattr(sys.modules[spec.network.partition(":")[0]], "__file__", None)
    module = body if isinstance(body, nn.Module) else _Called(body)
    return BodyNetwork(spec, module, classes, normalisation, sha256(Path(source)) if source else "")


class _Called(nn.Module):
    """A callable that is not a module: from images (n, 3, h, w) to logits, in any form."""

    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(x)

    def __deepcopy__(self, memo: object) -> "_Called":
        return _Called(self.function)


def _triple(body: object, name: str, usual: Triple) -> Triple:
    found = getattr(body, name, None)
    values = torch.as_tensor(usual if found is None else found, dtype=torch.float64)
    red, green, blue = values.flatten().tolist()
    return red, green, blue
