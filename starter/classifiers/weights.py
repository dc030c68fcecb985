"""Classifiers from the names and files that the user gives, and back into files.

The tensors of a file are read and checked in `weightsfile`. The module is long because every form of a name,
and every way from a network to a file and back, is here.
"""

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from starter.classifiers.classifier import Classifier, check_device
from starter.classifiers.networks import ARCHITECTURES, new_network
from starter.classifiers.networks.body import BodyNetwork
from starter.classifiers.networks.network import Network
from starter.classifiers.networks.user import use_network
from starter.classifiers.networks.zoo import (
    LibraryNetwork,
    is_library,
    pretrained_classes,
    pretrained_state,
    with_body,
)
from starter.classifiers.weightsfile import (
    CIFAR10_MEAN,
    CIFAR10_STD,
    OtherClasses,
    Triple,
    WeightsFile,
    fitting,
    with_sorted_header,
)
from starter.sources.download import OFFICIAL, cache_folder, fetch
from submission.errors import UnusableInput
from submission.files import replacing


def load_classifier(
    spec: str,
    classes: Sequence[str],
    precision: str = "float32",
    device: str = "cpu",
    size: tuple[int, int] | None = None,
    engine: str = "torch",
) -> Classifier:
    """Returns the classifier of a command's argument NAME=WEIGHTS.

    Args:
        spec: Name and weights. NAME is the classifier's name; WEIGHTS is `official`, the path of a
            .safetensors file, or of a .pt or .pth file with a state_dict, or ``module:function`` (see
            `networks.user`). The architecture is that of the file's metadata, or else NAME. ``timm:NET`` and
            ``torchvision:NET`` are networks of these libraries, with their own weights, or with those of a
            file as ``timm:NET=PATH``; ``NAME=timm:NET`` and ``NAME=timm:NET=PATH`` give them a name. After
            such a NET or a function, ``@LAYER`` names the linear layer that gives the logits, and ``@none``
            declares that there is none: logits only.
        classes: Names of the k classes, in the order of the logits.
        precision: Precision, see Classifier.
        device: Device, see Classifier.
        size: Height and width of the images in pixels. A library's or a user's network is run on such images
            to find the layer that gives its logits, if it is not named; without `size` it is the last linear
            layer defined.
        engine: Engine, see Classifier.

    Raises:
        UnusableInput: no weights are named, the architecture or device is unknown, a file cannot be read, or
            the weights do not fit.
    """
    name, weights = classifier_name(spec), spec.partition("=")[2]
    if own_network(f"={spec}"):
        raise UnusableInput(f"classifier {spec!r} has no name: pass NAME={spec}")
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) is None:
        raise UnusableInput(f"classifier {spec!r}: a name has letters, digits, '.', '_' and '-' only")
    known = spec.partition("=")[0] if is_library(spec) else ""
    if is_library(weights):
        known, _, weights = weights.partition("=")
    if not weights and not known:
        if name not in ARCHITECTURES:
            raise UnusableInput(
                f"classifier {spec!r}: there is no architecture {name}; the kit has "
                f"{', '.join(ARCHITECTURES)}, and a file of weights may have any name: {name}=PATH"
            )
        official = f" or {name}=official" if name in OFFICIAL else ""
        raise UnusableInput(f"classifier {spec!r} has no weights: pass {name}=PATH{official}")
    check_device(device)
    wanted = _Wanted(name, tuple(classes), precision, device, engine, size)
    if not weights:
        return _from_library(known, wanted)
    if own_network(spec):
        if name in ARCHITECTURES:
            raise UnusableInput(f"classifier {spec!r}: {name} is a network of the kit; name yours otherwise")
        return _from_user(weights, wanted)
    path = Path(weights) if weights != "official" else _official(spec, name)
    file = WeightsFile.read(path)
    arch = file.arch or known or name
    if name in ARCHITECTURES and not known and arch != name:
        raise UnusableInput(
            f"{path} holds {arch} weights: pass {arch}={path}, or a name that is no architecture"
        )
    if file.classes not in (None, tuple(classes)):
        made, asked = reprlib.repr(file.classes), reprlib.repr(tuple(classes))
        raise OtherClasses(f"{path} was made for the classes {made}, not for {asked}")
    try:
        return _from_file(file, arch, wanted)
    except OtherClasses as error:
        fitted = f"unseen train --arch {arch} --start {path} fits it to yours"
        raise OtherClasses(f"{error}: {fitted}") from error


def _official(spec: str, name: str) -> Path:
    """Returns the file of an architecture's official weights, downloaded on first use."""
    if name not in OFFICIAL:
        raise UnusableInput(f"classifier {spec!r}: official weights exist for {', '.join(OFFICIAL)} only")
    return fetch(OFFICIAL[name], cache_folder())


def read_classifier(
    path: Path,
    name: str | None = None,
    precision: str = "float32",
    device: str = "cpu",
    engine: str = "torch",
) -> Classifier:
    """Returns the classifier in a file of `save_classifier`; `name` is by default the file's stem.

    Raises:
        UnusableInput: the file is missing or damaged, or has no architecture and classes; or it is of a
            user's network that was not registered by `use_network`; or the device is unknown.
    """
    check_device(device)
    file = WeightsFile.read(path)
    if file.arch is None or file.classes is None:
        raise UnusableInput(
            f"{path} does not tell its architecture and classes: load it as NAME=PATH instead"
        )
    wanted = _Wanted(name or path.stem, file.classes, precision, device, engine)
    return _from_file(file, file.arch, wanted)


def save_classifier(classifier: Classifier, path: Path) -> None:
    """Write a classifier as safetensors, atomically and with reproducible bytes.

    The metadata hold `arch`, `mean` and `std` (comma-separated) and `classes` (a JSON list). Name, precision,
    device and engine are chosen on reading.
    """
    state = classifier.network.state_dict()
    tensors = {name: tensor.cpu().contiguous().clone() for name, tensor in state.items()}  # none share memory
    metadata = {
        "arch": classifier.arch,
        "mean": ",".join(map(repr, classifier.mean)),
        "std": ",".join(map(repr, classifier.std)),
        "classes": json.dumps(classifier.classes),
    }
    with replacing(path) as temporary:
        temporary.write_bytes(with_sorted_header(safetensors.torch.save(tensors, metadata)))


def parts_of(classifier: Classifier) -> dict[str, object]:
    """Returns a classifier's parts, its weights as arrays by name, for a file that also holds other data."""
    state = {name: tensor.cpu().numpy() for name, tensor in classifier.network.state_dict().items()}
    names = ("name", "arch", "classes", "mean", "std", "precision", "device", "engine")
    return {**{name: getattr(classifier, name) for name in names}, "state": state}


def classifier_of(parts: Mapping[str, Any]) -> Classifier:
    """Returns the classifier from its `parts_of`.

    Raises:
        UnusableInput: its network is a user's and was not named, or its device does not exist here.
    """
    network = new_network(parts["arch"], len(parts["classes"]))
    network.load_state_dict({name: torch.from_numpy(values) for name, values in parts["state"].items()})
    names = ("name", "arch", "classes", "mean", "std", "precision", "device", "engine")
    return Classifier(network=network, **{name: parts[name] for name in names})


def headed(network: Network, arch: str, size: tuple[int, int] | None, classes: int) -> str:
    """Returns the architecture's name, for a library's or a user's network with the layer of the logits.

    Args:
        network: Network of the architecture `arch`.
        arch: Name of the architecture, which may include the layer.
        size: Height and width in pixels of images on which it is run; None to not run it.
        classes: Number of classes.

    Raises:
        UnusableInput: the network fails on such images, or does not give logits for this number of classes.
    """
    if not isinstance(network, BodyNetwork):
        return arch
    if size and "@" not in arch:
        network.find_head(size, classes)
    return network.arch


def classifier_name(spec: str) -> str:
    """Returns the name of a classifier from NAME, NAME=WEIGHTS or LIBRARY:NAME=WEIGHTS.

    >>> classifier_name("mine=weights.pt"), classifier_name("timm:resnet18")
    ('mine', 'resnet18')
    """
    before = spec.partition("=")[0]
    return before.partition(":")[2].partition("@")[0] if is_library(before) else before


def own_network(spec: str) -> str:
    """Returns the user's ``module:function`` in NAME=module:function or NAME=module:function@LAYER, or "".

    >>> own_network("mine=nets:make@fc"), own_network("mine=weights.pt"), own_network("mine=timm:resnet18")
    ('nets:make', '', '')
    """
    found = re.fullmatch(r"([\w.]+:\w+)(@[\w.]+)?", spec.partition("=")[2])
    return "" if found is None or is_library(found[1]) else found[1]


def begin_with(network: Network, arch: str, start: str) -> tuple[Triple, Triple]:
    """Load initial weights into a network before training, except a last layer for other classes.

    Args:
        network: Network of the architecture `arch`.
        arch: Name in ARCHITECTURES, or of a library's network.
        start: "pretrained" for the library's own weights, or the path of a weights file.

    Returns:
        Mean and standard deviation of the input, for the normalisation.

    Raises:
        UnusableInput: the weights do not exist, or tensors outside the last layer do not fit.
    """
    if start == "pretrained":
        if not is_library(arch):
            raise UnusableInput(f"--start pretrained is of a library's network, as timm:resnet18, not {arch}")
        file = WeightsFile(Path(arch), pretrained_state(arch.partition("@")[0]), {})
    else:
        file = WeightsFile.read(Path(start))
    if isinstance(network, LibraryNetwork):
        file = replace(file, tensors=with_body(file.tensors))
    own = network.state_dict()
    kept = {name: file.tensors.get(name) for name in _of_classes(network, arch)}
    if any(tensor is None or tensor.shape != own[name].shape for name, tensor in kept.items()):
        file = replace(file, tensors=file.tensors | {name: own[name] for name in kept})
    network.load_state_dict(fitting(file, arch, network))
    return file.normalisation(*_normalisation(network))


def _of_classes(network: Network, arch: str) -> list[str]:
    """Returns the names of the tensors that depend on the number of classes: the last layer's.

    If that layer is unknown, they are the tensors with different shapes for two and three classes.
    """
    if network.head is None:
        two, three = (new_network(arch, classes).state_dict() for classes in (2, 3))
        return [name for name in two if two[name].shape != three[name].shape]
    own = network.state_dict()
    head = next(name for name, module in network.named_modules() if module is network.head)
    return [name for name in (f"{head}.weight", f"{head}.bias") if name in own]


def check_pretrained(arch: str, classes: int) -> None:
    """Check, before anything is downloaded, that a library's own weights are for this number of classes.

    Raises:
        OtherClasses: they are for another number; or as for `pretrained_classes`.
    """
    told = pretrained_classes(arch.partition("@")[0])
    if told != classes:
        fitted = f"unseen train --arch {arch} --start pretrained fits it to yours"
        raise OtherClasses(f"{arch} tells {told} classes apart, not {classes}: {fitted}")


@dataclass(frozen=True)
class _Wanted:
    """What is asked of a classifier, besides its network; see `Classifier` and `load_classifier`."""

    name: str
    classes: tuple[str, ...]
    precision: str
    device: str
    engine: str
    size: tuple[int, int] | None = None

    def of(
        self, network: Network, arch: str, where: object, normalisation: tuple[Triple, Triple]
    ) -> Classifier:
        """Returns the classifier with this network.

        Raises:
            UnusableInput: as `headed`; or classes or normalisation cannot be used: the message names `where`.
        """
        arch, place = headed(network, arch, self.size, len(self.classes)), (self.device, self.engine)
        try:
            return Classifier(self.name, arch, network, self.classes, *normalisation, self.precision, *place)
        except ValueError as error:
            raise UnusableInput(f"{where}: {error}") from error


def _from_file(file: WeightsFile, arch: str, wanted: _Wanted) -> Classifier:
    """Returns a network with the weights of a file."""
    try:
        # The kit's networks need no memory and no random numbers for weights that are replaced at once.
        with torch.device("meta") if arch in ARCHITECTURES else nullcontext():
            network = new_network(arch, len(wanted.classes))
    except UnusableInput as error:
        raise UnusableInput(f"{file.path}: {error}") from error
    network.load_state_dict(fitting(file, arch, network), assign=True)
    return wanted.of(network, arch, file.path, file.normalisation(*_normalisation(network)))


def _from_library(arch: str, wanted: _Wanted) -> Classifier:
    """Returns a library's network with the library's weights."""
    check_pretrained(arch, len(wanted.classes))
    network = new_network(arch, len(wanted.classes))
    network.load_state_dict(pretrained_state(arch.partition("@")[0]))
    return wanted.of(network, arch, arch, _normalisation(network))


def _from_user(arch: str, wanted: _Wanted) -> Classifier:
    """Returns the user's own network, with its weights and its normalisation."""
    spec = arch.partition("@")[0]
    use_network(spec)
    network = new_network(arch, len(wanted.classes))
    return wanted.of(network, arch, spec, _normalisation(network))


def _normalisation(network: Network) -> tuple[Triple, Triple]:
    """Returns the mean and standard deviation of the network itself, or else of CIFAR-10."""
    if not isinstance(network, BodyNetwork):
        return CIFAR10_MEAN, CIFAR10_STD
    return network.triple("mean") or CIFAR10_MEAN, network.triple("std") or CIFAR10_STD
