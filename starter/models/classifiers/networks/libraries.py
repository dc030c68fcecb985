"""Networks of timm and torchvision, ``timm:NET`` and ``torchvision:NET``, and their pretrained weights.

Such code is installed and not part of a weights file, so that a weights file may name such a network. Nothing
is downloaded unless the user asks for the library's own weights.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from starter.models.classifiers.networks.body import BODY, BodyNetwork, Triple
from starter.models.classifiers.specs import Spec
from submission.errors import UnusableInput, tell_once, why

IMAGENET: tuple[Triple, Triple] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def library_network(spec: Spec, classes: int) -> BodyNetwork:
    """Returns an untrained network of a library; its normalisation is that of the library's own weights."""
    with torch.random.fork_rng(devices=[]):
        body = maker(spec.network)(num_classes=classes)
    return BodyNetwork(spec, body, classes, _published(spec.network)[1])


def pretrained_state(network: str) -> dict[str, Tensor]:
    """Returns the tensors of the library's own weights by name, downloaded on first use."""
    make = maker(network)
    tell_once(f"{network}: reading the library's weights, which are downloaded if they are not here yet")
    try:
        with unlogged(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # of a last layer that the weights lack: they may be for other classes
            state = make(pretrained=True).state_dict()
    except Exception as error:  # raised by the network, the disk, or the library's own checks
        raise UnusableInput(
            f"{network}: the library's weights cannot be downloaded ({why(error)}): check the connection, or "
            f"name a file that holds them ({network}=PATH; for training --start PATH)"
        ) from error
    return {f"{BODY}{name}": tensor for name, tensor in state.items()}


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep libraries from logging each of their attempts, and what their error says again."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def pretrained_classes(network: str) -> int:
    """Returns the number of classes of the library's own weights, without a download."""
    maker(network)
    known, _ = _published(network)
    if not known:
        raise UnusableInput(f"{network}: the library has no weights for it: name a file, {network}=PATH")
    return known


def maker(network: str) -> Callable[..., nn.Module]:
    """Returns a function that makes a library's network, with `num_classes` or `pretrained`."""
    library, _, name = network.partition(":")
    made: Callable[..., nn.Module]
    if library == "timm":
        timm = _timm()
        found = timm.is_model_pretrained(name) if "." in name else timm.is_model(name)
        made = partial(timm.create_model, name)
        hint = "timm.list_models() lists them"
    else:
        from torchvision import models

        found, hint = name in models.list_models(models), "there are resnet18, vit_b_16, ..."

        def made(pretrained: bool = False, **given: int) -> nn.Module:
            return models.get_model(name, weights="DEFAULT" if pretrained else None, **given)

    if not found:
        raise UnusableInput(f"{network}: {library} has no such network; {hint}")
    return made


def _published(network: str) -> tuple[int, tuple[Triple, Triple]]:
    """Returns the number of classes of the library's own weights, 0 without, and their normalisation."""
    library, _, name = network.partition(":")
    if library == "timm":
        config = _timm().get_pretrained_cfg(name)
        known = int(config.num_classes) if config and config.has_weights else 0
        return known, (tuple(config.mean), tuple(config.std)) if config else IMAGENET
    from torchvision import models

    weights = models.get_model_weights(name).DEFAULT
    preset = weights.transforms()
    return len(weights.meta["categories"]), (tuple(preset.mean), tuple(preset.std))


def _timm() -> Any:
    try:
        import timm
    except ImportError as error:
        raise UnusableInput("networks of timm need it: pip install timm") from error
    return timm
