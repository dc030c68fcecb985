"""The kit's networks by name, and a function that builds one of them, a library's or the user's."""

from collections.abc import Callable

from starter.classifiers.networks.dla import DLA34
from starter.classifiers.networks.network import Network
from starter.classifiers.networks.repvgg import RepVGGA0
from starter.classifiers.networks.resnet import ResNet56
from starter.classifiers.networks.small import Small
from starter.classifiers.networks.torchvision import VGG16, DenseNet121, ResNet18, ResNet101
from starter.classifiers.networks.user import UserNetwork
from starter.classifiers.networks.zoo import LibraryNetwork, is_library
from submission.errors import UnusableInput

#: Functions that build the network of an architecture for a number of classes, by the architecture's name.
ARCHITECTURES: dict[str, Callable[[int], Network]] = {
    "densenet121": DenseNet121,
    "dla34": DLA34,
    "repvgg_a0": RepVGGA0,
    "resnet101": ResNet101,
    "resnet18": ResNet18,
    "resnet56": ResNet56,
    "small": Small,
    "vgg16": VGG16,
}


def new_network(arch: str, num_classes: int) -> Network:
    """Returns an untrained network: the kit's, a library's, or the user's named by ``module:function``.

    The name of a library's or user's network may end in the layer that gives the logits:
    ``timm:NAME@LAYER``.

    Raises:
        UnusableInput: The name or layer is unknown, or `use_network` was not called for the module:function,
            or that fails.
    """
    if arch in ARCHITECTURES:
        return ARCHITECTURES[arch](num_classes)
    spec, _, layer = arch.partition("@")
    if is_library(spec):
        return LibraryNetwork(spec, num_classes, layer)
    if ":" in spec:
        return UserNetwork(spec, num_classes, layer)
    raise UnusableInput(f"{arch[:100]!r} is no architecture of the kit, which has {', '.join(ARCHITECTURES)}")
