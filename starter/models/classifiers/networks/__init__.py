"""The kit's networks by name, and a function that builds one of them, a library's or the user's."""

from collections.abc import Callable
from functools import partial

from starter.models.classifiers.networks.body import user_network
from starter.models.classifiers.networks.dla import DLA34
from starter.models.classifiers.networks.libraries import library_network
from starter.models.classifiers.networks.network import Network
from starter.models.classifiers.networks.repvgg import RepVGGA0
from starter.models.classifiers.networks.small import Small
from starter.models.classifiers.networks.torchvision import VGG16, DenseNet121, resnet, resnet56
from starter.models.classifiers.specs import Spec
from submission.errors import UnusableInput

#: Functions that build the network of an architecture for a number of classes, by the architecture's name.
ARCHITECTURES: dict[str, Callable[[int], Network]] = {
    "densenet121": DenseNet121,
    "dla34": DLA34,
    "repvgg_a0": RepVGGA0,
    "resnet101": partial(resnet, "resnet101"),
    "resnet18": partial(resnet, "resnet18"),
    "resnet56": resnet56,
    "small": Small,
    "vgg16": VGG16,
}


def new_network(arch: str, num_classes: int) -> Network:
    """Returns an untrained network: the kit's, a library's, or the user's that `use_network` imported."""
    spec = Spec.parse(arch)
    if spec.network and not spec.weights:
        return (library_network if spec.library else user_network)(spec, num_classes)
    if arch in ARCHITECTURES:
        return ARCHITECTURES[arch](num_classes)
    raise UnusableInput(
        f"{arch[:100]!r} is no architecture of the kit, which has {', '.join(ARCHITECTURES)}; weights of a "
        "network of yours are NAME=module:function=FILE"
    )
