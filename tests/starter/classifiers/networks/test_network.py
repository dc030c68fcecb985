import copy
from collections.abc import Callable

import pytest
import torch
from slow import some_slow
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from starter.classifiers import ARCHITECTURES, Network
from starter.classifiers.networks.network import folded, merged


class Branching(Network):
    """A normalised convolution, one whose output is a stage of its own, and one that two normalisations read."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first, self.first_bn = nn.Conv2d(3, 4, 3, stride=2, bias=False), nn.BatchNorm2d(4)
        self.shown, self.shown_bn = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.forked, self.left_bn, self.right_bn = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.before_bn, self.after = nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1)
        self.fc = nn.Linear(4, num_classes)

    @property
    def head(self) -> nn.Linear:
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        shown = self.shown(self.first_bn(self.first(x)))
        forked = self.forked(self.shown_bn(shown))
        return [shown, self.after(self.before_bn(self.left_bn(forked) + self.right_bn(forked)))]


def test_only_what_a_convolution_alone_feeds_is_folded(
    shaken: Callable[[Callable[[int], Network]], Network],
) -> None:
    network = shaken(Branching)
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    fast = folded(network)
    left = {name for name, module in fast.named_modules() if isinstance(module, nn.BatchNorm2d)}
    assert left == {"shown_bn", "left_bn", "right_bn", "before_bn"}
    x = torch.randn(2, 3, 9, 9, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(fast.stages(x), network.stages(x))
    torch.testing.assert_close(dict(network.state_dict()), state, rtol=0, atol=0)


@pytest.mark.parametrize("bias", [False, True])
def test_a_merged_convolution_is_pytorchs(bias: bool) -> None:
    generator = torch.Generator().manual_seed(2)
    conv, bn = nn.Conv2d(3, 5, 3, bias=bias).eval(), nn.BatchNorm2d(5).eval()
    for tensor in [*conv.parameters(), *bn.parameters(), bn.running_mean, bn.running_var]:
        nn.init.uniform_(tensor, 0.5, 1.5, generator=generator)
    expected = fuse_conv_bn_eval(copy.deepcopy(conv).double(), copy.deepcopy(bn).double())
    kernel, shift = merged(conv.weight, conv.bias, bn)
    assert kernel.dtype == shift.dtype == torch.float64
    torch.testing.assert_close(kernel, expected.weight)
    torch.testing.assert_close(shift, expected.bias)


@pytest.mark.parametrize("arch", some_slow(ARCHITECTURES, "resnet101", "densenet121"))
def test_every_architecture_folds_to_the_same_maps_and_logits(
    arch: str, shaken: Callable[[Callable[[int], Network]], Network]
) -> None:
    network = shaken(ARCHITECTURES[arch])
    fast = network.folded()
    left = sum(isinstance(module, nn.BatchNorm2d) for module in fast.modules())
    # In DenseNet two thirds of them stand before a convolution: one a layer, one a transition, one at the end.
    assert left == (58 + 3 + 1 if arch == "densenet121" else 0)
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(3))
    logits = network(x)
    torch.testing.assert_close(fast(x), logits, rtol=0, atol=1e-4 * max(1, float(logits.abs().max())))
    exact, x = network.double(), x.double()
    torch.testing.assert_close(exact.folded().stages(x), exact.stages(x))
