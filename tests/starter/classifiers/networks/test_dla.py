from collections.abc import Callable

import torch
from torch.nn import functional

from starter.classifiers import Network
from starter.classifiers.networks.dla import DLA34, Block, Tree


def block(module: Block, x: torch.Tensor) -> torch.Tensor:
    """A basic block whose shortcut is pooled first and projected then."""
    first = functional.relu(module.bn1(module.conv1(x)))
    shortcut = functional.max_pool2d(x, x.shape[-1] // first.shape[-1])
    if x.shape[1] != first.shape[1]:
        shortcut = module.project[1](module.project[0](shortcut))
    return functional.relu(module.bn2(module.conv2(first)) + shortcut)


def join(tree: Tree, *maps: torch.Tensor) -> torch.Tensor:
    """An aggregation node: 1x1 convolution of all maps, normalised, ReLU."""
    return functional.relu(tree.root[1](tree.root[0](torch.cat(maps, 1))))


def test_maps_are_joined_as_in_the_papers_figure(
    shaken: Callable[[Callable[[int], Network]], Network],
) -> None:
    network = shaken(DLA34)
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    expected = [network.stem(x)]
    first, second, third, fourth = network.trees
    a = block(first.left, expected[-1])
    expected.append(join(first, block(first.right, a), a))
    for tree in (second, third):
        before = expected[-1]
        a = block(tree.left.left, before)
        node = join(tree.left, block(tree.left.right, a), a)
        a = block(tree.right.left, node)
        last = block(tree.right.right, a)
        expected.append(join(tree.right, last, a, functional.max_pool2d(before, 2), node))
    a = block(fourth.left, expected[-1])
    expected.append(join(fourth, block(fourth.right, a), a, functional.max_pool2d(expected[-1], 2)))
    torch.testing.assert_close(network.stages(x), expected[1:])
