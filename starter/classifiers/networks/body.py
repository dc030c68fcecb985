"""BodyNetwork: any module that gives logits, as a Network, with features if a linear layer gives them."""

import inspect

import torch
from torch import Tensor, nn

from starter.classifiers.networks.network import Network
from submission.errors import UnusableInput

NO_LAYER = "none"
"""Name given in place of a layer's, if no linear layer gives the logits."""
TRIED = 2
"""Number of images on which a network is tried."""


class BodyNetwork(Network):
    """A module that maps images to logits; the input of its last linear layer is the features.

    If no linear layer gives the module's logits (but a mean of a convolution's maps or of two
    heads, say), it has no head, and no features other than the logits. Both are float32.

    Attributes:
        spec: Name of the network that the user gave; messages begin with it.
        body: The module.
        layer: Name in `body` of the `nn.Linear` that gives the logits; "" for the last in the order of
            definition, `NO_LAYER` if there is none.

    Raises:
        UnusableInput: The named layer is not an `nn.Linear` to `num_classes`.
    """

    def __init__(self, spec: str, body: nn.Module, num_classes: int, layer: str = "") -> None:
        super().__init__()
        self.spec = spec
        self.body = body.float()
        self.layer = layer
        if not layer:
            last = self.head
            self.layer = "" if last is not None and last.out_features == num_classes else NO_LAYER
        elif layer != NO_LAYER:
            named = self._linear().get(layer)
            if named is None or named.out_features != num_classes:
                found = [name for name, each in self._linear().items() if each.out_features == num_classes]
                raise UnusableInput(
                    f"{spec}@{layer}: no nn.Linear to {num_classes} classes is called {layer!r}; write "
                    f"{' or '.join(f'@{name}' for name in [*found, NO_LAYER])}"
                )
        if not all(isinstance(value, Tensor) for value in self.body.state_dict().values()):
            raise UnusableInput(f"{spec}: its state_dict() holds more than tensors")

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

    def find_head(self, size: tuple[int, int], num_classes: int) -> None:
        """Try the network on images of a size (height, width), and find the linear layer of its logits.

        Raises:
            UnusableInput: It fails on such images, or its output is probabilities, or does not have
                `num_classes` numbers for each image.
        """
        x = torch.randn(TRIED, 3, *size, generator=torch.Generator().manual_seed(0))
        linear, training = self._linear(), self.training
        calls: dict[str, tuple[Tensor, Tensor]] = {}

        def watch(name: str, layer: nn.Linear) -> torch.utils.hooks.RemovableHandle:
            return layer.register_forward_hook(lambda _, given, out: calls.update({name: (given[0], out)}))

        hooks = [watch(name, layer) for name, layer in linear.items()]
        try:
            with torch.inference_mode():
                logits = self.eval()._run(x)
        finally:
            self.train(training)
            for hook in hooks:
                hook.remove()
        if logits.shape != (TRIED, num_classes):
            raise UnusableInput(
                f"{self.spec} gives outputs {tuple(logits.shape)} for {TRIED} images: {num_classes} classes "
                f"ask for ({TRIED}, {num_classes})"
            )
        if bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(TRIED), atol=1e-3):
            raise UnusableInput(
                f"{self.spec} gives probabilities: logits are asked for, as before its softmax"
            )
        found = [name for name, call in calls.items() if _gives(*call, logits)]
        last = next(reversed(linear), None)
        self.layer = NO_LAYER if not found else "" if last in found else found[-1]

    def features(self, x: Tensor) -> Tensor:
        """Returns the input of the layer that gives the logits, float32 (n, d); without one, the logits.

        Raises:
            UnusableInput: The network fails, or its output is not that layer's.
        """
        head = self.head
        if head is None:
            return self._run(x).float()
        calls: list[tuple[Tensor, Tensor]] = []
        with head.register_forward_hook(lambda _, inputs, output: calls.append((inputs[0], output))):
            logits = self._run(x)
        if not calls or not _gives(*calls[-1], logits):
            layer = self.layer or "that was defined last"
            raise UnusableInput(
                f"{self.spec}: its nn.Linear {layer} does not give the logits (n, k) from features (n, d); "
                f"name another as {self.spec}@LAYER, or {self.spec}@{NO_LAYER} for logits alone"
            )
        return calls[-1][0].float()

    def _run(self, x: Tensor) -> Tensor:
        """Returns the module's output.

        Raises:
            UnusableInput: It fails, or its output is not a tensor.
        """
        try:
            output = self.body(x)
        except Exception as error:
            (height, width), told = x.shape[2:], str(error).rstrip(".")
            raise UnusableInput(
                f"{self.spec} fails on images of {width} x {height} pixels ({type(error).__name__}: {told}): "
                "give it images of a size that it takes (--image-size, for a --source of your own)"
            ) from error
        if not isinstance(output, Tensor):
            raise UnusableInput(f"{self.spec} must give logits, a tensor (n, k), not {type(output).__name__}")
        return output

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the feature maps that the module's own method `stages` gives.

        Raises:
            UnusableInput: It has no such method.
        """
        maps = getattr(self.body, "stages", None)
        if not inspect.ismethod(maps):
            raise UnusableInput(f"{self.spec}: the network has no stages(x), a list of maps (n, c, h, w)")
        return maps(x)

    def folded(self) -> "BodyNetwork":
        """Returns itself: the kit does not know which of its operations could be merged."""
        return self

    def triple(self, name: str) -> tuple[float, float, float] | None:
        """Returns the module's `mean` or `std` of the input on [0, 1], or None if it has none.

        Raises:
            UnusableInput: It is not three numbers.
        """
        given = getattr(self.body, name, None)
        if given is None:
            return None
        try:
            red, green, blue = torch.as_tensor(given, dtype=torch.float64).flatten().tolist()
        except (RuntimeError, TypeError, ValueError) as error:
            raise UnusableInput(f"{self.spec}: `{name}` of the network must be three numbers") from error
        return red, green, blue


def _gives(features: Tensor, output: Tensor, logits: Tensor) -> bool:
    """Returns True if the layer that maps `features` to `output` gives the logits, from rows of features."""
    return features.ndim == 2 and (output is logits or torch.equal(output, logits))
