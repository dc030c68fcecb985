"""LibraryNetwork: a network of timm or torchvision, named ``timm:NAME`` or ``torchvision:NAME``.

Such code is installed and not part of a weights file, so that a weights file may name such a network. Nothing
is downloaded unless the user asks for the library's own weights.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from starter.classifiers.networks.body import BodyNetwork
from submission.errors import UnusableInput, tell_once

BODY = "body."
LIBRARIES = ("timm", "torchvision")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def is_library(arch: str) -> bool:
    """Returns True if `arch` names a network of a library, such as "timm:resnet18".

    >>> is_library("timm:resnet18"), is_library("my_nets:make"), is_library("resnet56")
    (True, False, False)
    """
    return arch.partition(":")[0] in LIBRARIES and ":" in arch


class LibraryNetwork(BodyNetwork):
    """An untrained network of timm or torchvision for a number of classes.

    Its input is normalised with the mean and standard deviation that the library gives for its own weights,
    or ImageNet's if it gives none.

    Raises:
        UnusableInput: The library is not installed, it has no such network, or the network has no such layer.
    """

    def __init__(self, spec: str, num_classes: int, layer: str = "") -> None:
        super().__init__(spec, _made(spec, num_classes), num_classes, layer)

    def triple(self, name: str) -> tuple[float, float, float]:
        """Returns the library's mean or standard deviation of the input on [0, 1]."""
        return _normalisation(self.spec)[name == "std"]


def pretrained_state(arch: str) -> dict[str, Tensor]:
    """Returns the tensors of the library's own weights by name, downloaded on first use.

    Raises:
        UnusableInput: As for `LibraryNetwork`; or there are no such weights, or they cannot be downloaded.
    """
    tell_once(f"{arch}: reading the library's weights, which are downloaded if they are not here yet")
    try:
        with unlogged(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # of a last layer that the weights lack: they may be for other classes
            state = _module(arch, pretrained=True).state_dict()
    except UnusableInput:
        raise
    except Exception as error:  # raised by the network, the disk, or the library's own checks
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnusableInput(
            f"{arch}: the library's weights cannot be downloaded ({reason}): check the connection, or name a "
            f"file that holds them ({arch}=PATH; for training --start PATH)"
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


def pretrained_classes(arch: str) -> int:
    """Returns the number of classes of the library's own weights, without a download.

    Raises:
        UnusableInput: The library is not installed, or it has no such network or no weights for it.
    """
    library, _, name = arch.partition(":")
    if library == "timm":
        timm = _timm()
        config = timm.get_pretrained_cfg(name) if timm.is_model(name.partition(".")[0]) else None
        known = config.num_classes if config and config.has_weights else 0
    else:
        from torchvision import models

        weights = models.get_model_weights(name) if name in models.list_models(models) else ()
        known = len(weights.DEFAULT.meta["categories"]) if weights else 0
    if not known:
        _module(arch)
        raise UnusableInput(f"{arch}: the library has no weights for it: name a file, {arch}=PATH")
    return known


def with_body(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns the tensors under the kit's names, which are the library's with "body." before them."""
    own = any(name.startswith(BODY) for name in tensors)
    return {name if own else f"{BODY}{name}": tensor for name, tensor in tensors.items()}


def _made(arch: str, num_classes: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        try:
            return _module(arch, num_classes=num_classes)
        except UnusableInput:
            raise
        except Exception as error:
            raise UnusableInput(f"{arch} cannot be made for {num_classes} classes: {error}") from error


def _module(arch: str, num_classes: int = 1000, pretrained: bool = False) -> nn.Module:
    library, _, name = arch.partition(":")
    if library == "timm":
        timm = _timm()
        if not timm.is_model(name.partition(".")[0]):
            raise UnusableInput(f"{arch}: timm has no such network; timm.list_models() lists them")
        module: nn.Module = timm.create_model(name, num_classes=num_classes, pretrained=pretrained)
        return module
    from torchvision import models

    if name not in models.list_models(models):
        raise UnusableInput(f"{arch}: torchvision has no such classifier; there are resnet18, vit_b_16, ...")
    weights = "DEFAULT" if pretrained else None
    return models.get_model(name, weights=weights, num_classes=num_classes)


def _normalisation(arch: str) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    library, _, name = arch.partition(":")
    if library == "timm":
        config = _timm().get_pretrained_cfg(name)
        return (tuple(config.mean), tuple(config.std)) if config else (IMAGENET_MEAN, IMAGENET_STD)
    from torchvision import models

    shown = models.get_model_weights(name).DEFAULT.transforms()
    return tuple(shown.mean), tuple(shown.std)


def _timm() -> Any:
    try:
        import timm
    except ImportError as error:
        raise UnusableInput("networks of timm need it: pip install timm") from error
    return timm
