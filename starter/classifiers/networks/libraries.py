"""Networks of timm and torchvision, ``timm:NET`` and ``torchvision:NET``, and their pretrained weights.

Such code is installed and not part of a weights file, so that a weights file may name such a network. Nothing
is downloaded unless the user asks for the library's own weights.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from starter.classifiers.networks.body import BodyNetwork, Triple, with_body
from starter.classifiers.specs import Spec
from submission.errors import UnusableInput, tell_once, why

IMAGENET: tuple[Triple, Triple] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def library_network(spec: Spec, classes: int) -> BodyNetwork:
    """Returns an untrained network of a library; its normalisation is that of the library's own weights."""
    with torch.random.fork_rng(devices=[]):
        try:
            body = _module(spec.network, num_classes=classes)
        except UnusableInput:
            raise
        except Exception as error:
            raise UnusableInput(f"{spec.network} cannot be made for {classes} classes: {error}") from error
    return BodyNetwork(spec, body, classes, _normalisation(spec.network))


def pretrained_state(network: str) -> dict[str, Tensor]:
    """Returns the tensors of the library's own weights by name, downloaded on first use."""
    tell_once(f"{network}: reading the library's weights, which are downloaded if they are not here yet")
    try:
        with unlogged(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # of a last layer that the weights lack: they may be for other classes
            state = _module(network, pretrained=True).state_dict()
    except UnusableInput:
        raise
    except Exception as error:  # raised by the network, the disk, or the library's own checks
        raise UnusableInput(
            f"{network}: the library's weights cannot be downloaded ({why(error)}): check the connection, or "
            f"name a file that holds them ({network}=PATH; for training --start PATH)"
        ) from error
    return with_body(state)


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep libraries that download from logging each of their attempts, and what their error says again."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def pretrained_classes(network: str) -> int:
    """Returns the number of classes of the library's own weights, without a download."""
    library, _, name = network.partition(":")
    if library == "timm":
        timm = _timm()
        config = timm.get_pretrained_cfg(name) if timm.is_model(name.partition(".")[0]) else None
        known = config.num_classes if config and config.has_weights else 0
    else:
        from torchvision import models

        weights = models.get_model_weights(name) if name in models.list_models(models) else ()
        known = len(weights.DEFAULT.meta["categories"]) if weights else 0
    if not known:
        _module(network)
        raise UnusableInput(f"{network}: the library has no weights for it: name a file, {network}=PATH")
    return known


def _module(network: str, num_classes: int = 1000, pretrained: bool = False) -> nn.Module:
    library, _, name = network.partition(":")
    if library == "timm":
        timm = _timm()
        if not timm.is_model(name.partition(".")[0]):
            raise UnusableInput(f"{network}: timm has no such network; timm.list_models() lists them")
        module: nn.Module = timm.create_model(name, num_classes=num_classes, pretrained=pretrained)
        return module
    from torchvision import models

    if name not in models.list_models(models):
        raise UnusableInput(
            f"{network}: torchvision has no such classifier; there are resnet18, vit_b_16, ..."
        )
    return models.get_model(name, weights="DEFAULT" if pretrained else None, num_classes=num_classes)


def _normalisation(network: str) -> tuple[Triple, Triple]:
    library, _, name = network.partition(":")
    if library == "timm":
        config = _timm().get_pretrained_cfg(name)
        return (tuple(config.mean), tuple(config.std)) if config else IMAGENET
    from torchvision import models

    preset = models.get_model_weights(name).DEFAULT.transforms()
    return tuple(preset.mean), tuple(preset.std)


def _timm() -> Any:
    try:
        import timm
    except ImportError as error:
        raise UnusableInput("networks of timm need it: pip install timm") from error
    return timm
