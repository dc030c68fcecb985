"""Classifiers from the names and files that the user gives, and back into files."""

import http.client
import json
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from torch import Tensor

from starter.data.images.files import cache_folder
from starter.models.classifiers.checkpoints import COUNTERS, open_checkpoint, renamed
from starter.models.classifiers.classifier import Classifier
from starter.models.classifiers.networks import ARCHITECTURES, new_network
from starter.models.classifiers.networks.body import CIFAR10, BodyNetwork, Triple, use_network
from starter.models.classifiers.networks.libraries import pretrained_classes, pretrained_state
from starter.models.classifiers.networks.network import Network
from starter.models.classifiers.specs import Spec
from submission.errors import UnusableInput, unusable
from submission.files import composed, replacing, sha256, write_bytes

_RELEASES = "https://github.com/chenyaofo/pytorch-cifar-models/releases/download"

#: Architecture -> weights trained on CIFAR-10, as the DataCV challenges used them: their address, and their
#: SHA-256 or the known start of it.
OFFICIAL = {
    "resnet56": (
        f"{_RELEASES}/resnet/cifar10_resnet56-187c023a.pt",
        "187c023aee0c9cf3093a682d9447a538cbaf5489f7ae78a7df4edf2246ce380b",
    ),
    "repvgg_a0": (
        f"{_RELEASES}/repvgg/cifar10_repvgg_a0-ef08a50e.pt",
        "ef08a50e",  # all that the publisher's file name tells
    ),
}

Value = TypeVar("Value")
_PARTS = ("name", "arch", "classes", "mean", "std", "precision", "device", "engine")


class OtherClasses(UnusableInput):
    """Weights that are made for other classes than those of the images."""


@dataclass(frozen=True)
class WeightsFile:
    """Named tensors, and the metadata of a safetensors file (none for a PyTorch file)."""

    path: Path
    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "WeightsFile":
        """Read a file of weights, see `open_checkpoint`."""
        path = path.expanduser()
        return cls(path, *open_checkpoint(path))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names in the file's metadata; None if they are missing."""
        return self._parsed(
            "classes", lambda text: tuple(composed(str(name)) for name in json.loads(text)), None
        )

    def normalisation(self, mean: Triple, std: Triple) -> tuple[Triple, Triple]:
        """Returns mean and standard deviation of the input, RGB on [0, 1]: the file's or the given ones."""
        return self._parsed("mean", _triple, mean), self._parsed("std", _triple, std)

    def _parsed(self, key: str, parse: Callable[[str], Value], missing: Value) -> Value:
        """Returns an entry of the metadata; `missing` if there is none."""
        try:
            return parse(self.metadata[key]) if key in self.metadata else missing
        except (ValueError, TypeError) as error:
            reason = f"its metadata `{key}` cannot be read: {self.metadata[key][:40]!r}"
            raise unusable(self.path, reason) from error

    def fitted(self, arch: str, network: Network) -> dict[str, Tensor]:
        """Returns the tensors in the dtypes of `network`, which messages call `arch`, after checks."""
        expected = network.state_dict()
        found = renamed(self.path, self.tensors, expected)
        for name in expected:
            if name.rpartition(".")[2] in COUNTERS and name not in found:
                found[name] = torch.zeros(expected[name].shape, dtype=expected[name].dtype)
        if network.head:
            weight, outputs = found.get(f"{head_name(network)}.weight"), network.head.out_features
            if weight is not None and weight.ndim == 2 and len(weight) != outputs:
                told = f"{self.path} tells {len(weight)} classes apart, not {outputs}"
                start = f"unseen train --arch {arch} --start {self.path} fits it to yours"
                raise OtherClasses(f"{told}: {start}")
        problems = [f"it lacks {name}" for name in expected if name not in found]
        problems += [f"its {name[:100]!r} is unexpected" for name in found if name not in expected]
        for name in (name for name in expected if name in found):
            tensor, own = found[name], expected[name]
            if tensor.shape != own.shape:
                problems.append(f"its {name} has shape {tuple(tensor.shape)} instead of {tuple(own.shape)}")
            elif not tensor.to(own.dtype).isfinite().all():
                problems.append(f"its {name} holds NaN or infinite values")
        if problems:
            shown = "; ".join(problems[:3])
            raise UnusableInput(f"{self.path} does not fit {arch}: {shown} ({len(problems)} problems in all)")
        return {name: tensor.to(expected[name].dtype) for name, tensor in found.items()}


def load_classifier(
    spec: str,
    classes: Sequence[str],
    precision: str = "float32",
    device: str = "cpu",
    size: tuple[int, int] | None = None,
    engine: str = "torch",
) -> Classifier:
    """Returns the classifier of a command's argument NAME=WEIGHTS, see `specs` and `Classifier`.

    A file's architecture is that of its metadata, or else NAME. A library's or a user's network is run on
    images of this `size` to find the layer that gives its logits, if it is not named (``@none``: no layer
    does); without a size it is the last linear layer defined.
    """
    parsed, k = _checked(spec), len(classes)
    if parsed.own_code:
        use_network(parsed.own_code)
    if parsed.network and not parsed.weights:
        arch = parsed.arch
        if parsed.library and (known := pretrained_classes(parsed.network)) != k:
            start = f"unseen train --arch {arch} --start pretrained fits it to yours"
            raise OtherClasses(f"{arch} tells {known} classes apart, not {k}: {start}")
        network = new_network(arch, k)
        if parsed.library:
            network.load_state_dict(pretrained_state(parsed.network))
        normalisation = _normalisation(network)
    else:
        official = parsed.weights == "official"
        path = fetch(*OFFICIAL[parsed.name], cache_folder()) if official else Path(parsed.weights)
        file = WeightsFile.read(path)
        arch = "" if parsed.own_code else file.metadata.get("arch", "")
        arch = arch or parsed.arch or parsed.name
        if file.classes not in (None, tuple(map(composed, classes))):
            made, mine = reprlib.repr(file.classes), reprlib.repr(tuple(classes))
            raise OtherClasses(f"{file.path} was made for the classes {made}, not for {mine}")
        network, normalisation = _read(file, arch, k)
    arch = headed(network, arch, size, k)
    mean, std = normalisation
    return Classifier(
        name=parsed.name,
        arch=arch,
        network=network,
        classes=tuple(classes),
        mean=mean,
        std=std,
        precision=precision,
        device=device,
        engine=engine,
    )


def read_classifier(
    path: Path,
    name: str | None = None,
    precision: str = "float32",
    device: str = "cpu",
    engine: str = "torch",
) -> Classifier:
    """Returns the classifier in a file of `save_classifier`; `name` is by default the file's stem."""
    file = WeightsFile.read(path)
    arch = file.metadata.get("arch")
    if arch is None or file.classes is None:
        raise UnusableInput(
            f"{path} does not tell its architecture and classes: load it as NAME=PATH instead"
        )
    network, (mean, std) = _read(file, arch, len(file.classes))
    return Classifier(
        name=name or path.stem,
        arch=headed(network, arch, None, len(file.classes)),
        network=network,
        classes=file.classes,
        mean=mean,
        std=std,
        precision=precision,
        device=device,
        engine=engine,
    )


def save_classifier(classifier: Classifier, path: Path) -> None:
    """Write a classifier as safetensors, atomically and with reproducible bytes."""
    state = classifier.network.state_dict()
    tensors = {name: tensor.cpu().contiguous().clone() for name, tensor in state.items()}  # none share memory
    metadata = {
        "arch": classifier.arch,
        "mean": ",".join(map(repr, classifier.mean)),
        "std": ",".join(map(repr, classifier.std)),
        "classes": json.dumps(classifier.classes),
    }
    write_bytes(path, with_sorted_header(safetensors.torch.save(tensors, metadata)))


def parts_of(classifier: Classifier) -> dict[str, object]:
    """Returns a classifier's parts, its weights as arrays by name, for a file that also holds other data."""
    state = {name: tensor.cpu().numpy() for name, tensor in classifier.network.state_dict().items()}
    return {**{name: getattr(classifier, name) for name in _PARTS}, "state": state}


def classifier_of(parts: Mapping[str, Any]) -> Classifier:
    """Returns the classifier from its `parts_of`."""
    network = new_network(parts["arch"], len(parts["classes"]))
    network.load_state_dict({name: torch.from_numpy(values) for name, values in parts["state"].items()})
    return Classifier(network=network, **{name: parts[name] for name in _PARTS})


def headed(network: Network, arch: str, size: tuple[int, int] | None, classes: int) -> str:
    """Returns the architecture's name, for a library's or a user's network with the layer of the logits."""
    if not isinstance(network, BodyNetwork):
        return arch
    if size and "@" not in arch:
        network.find_head(size, classes)
    return network.arch


def begin_with(network: Network, arch: str, start: str) -> tuple[Triple, Triple]:
    """Load initial weights, but a last layer for other classes, and return the input's normalisation."""
    if start == "pretrained":
        spec = Spec.parse(arch)
        if not spec.library:
            raise UnusableInput(f"--start pretrained is of a library's network, as timm:resnet18, not {arch}")
        file = WeightsFile(Path(arch), pretrained_state(spec.network), {})
    else:
        file = WeightsFile.read(Path(start))
    own = network.state_dict()
    found = renamed(file.path, file.tensors, own)
    last = {name: own[name] for name in _of_classes(network, arch)}
    if any(name not in found or found[name].shape != tensor.shape for name, tensor in last.items()):
        found = {**found, **last}
    network.load_state_dict(replace(file, tensors=found).fitted(arch, network))
    return file.normalisation(*_normalisation(network))


def _checked(text: str) -> Spec:
    """Returns the spec of a classifier, which has a name, and weights or a network."""
    spec, problem = Spec.parse(text), ""
    known = spec.name in ARCHITECTURES and not spec.library
    if spec.own_code and (known or not spec.name):
        problem = f": name it, NAME={spec.arch}, otherwise than the kit's networks"
    elif re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", spec.name) is None:
        problem = ": a name has letters, digits, '.', '_' and '-' only"
    elif spec.weights == "official" and spec.name not in OFFICIAL:
        problem = f": official weights exist for {', '.join(OFFICIAL)} only"
    elif not spec.network and not spec.weights:
        official = f" or {spec.name}=official" if spec.name in OFFICIAL else ""
        others = "" if known else f"; the kit has {', '.join(ARCHITECTURES)}"
        problem = f" has no weights: pass {spec.name}=PATH{official}{others}"
    if problem:
        raise UnusableInput(f"classifier {text!r}{problem}")
    return spec


def _read(file: WeightsFile, arch: str, classes: int) -> tuple[Network, tuple[Triple, Triple]]:
    """Returns a network with the weights of a file, and its normalisation."""
    try:
        # The kit's networks need no memory and no random numbers for weights that are replaced at once.
        with torch.device("meta") if arch in ARCHITECTURES else nullcontext():
            network = new_network(arch, classes)
    except UnusableInput as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        fix = f"; let {arch} build the network without that file, these are its weights" if missing else ""
        raise UnusableInput(f"{file.path}: {error}{fix}") from error
    network.load_state_dict(file.fitted(arch, network), assign=True)
    return network, file.normalisation(*_normalisation(network))


def _normalisation(network: Network) -> tuple[Triple, Triple]:
    """Returns the mean and standard deviation of the network itself, or else of CIFAR-10."""
    return network.normalisation if isinstance(network, BodyNetwork) else CIFAR10


def _of_classes(network: Network, arch: str) -> list[str]:
    """Returns the names of the last layer's tensors; if it is unknown, of those that the classes shape."""
    if network.head is None:
        two, three = (new_network(arch, classes).state_dict() for classes in (2, 3))
        return [name for name in two if two[name].shape != three[name].shape]
    own, head = network.state_dict(), head_name(network)
    return [name for name in (f"{head}.weight", f"{head}.bias") if name in own]


def fetch(url: str, digest: str, folder: Path) -> Path:
    """Returns a published file in `folder`, downloaded unless it is there with a SHA-256 from `digest` on."""
    from torch.hub import download_url_to_file

    path = folder / url.rpartition("/")[2]
    if path.is_file() and sha256(path).startswith(digest):
        return path
    try:
        with replacing(path) as temporary:
            download_url_to_file(url, str(temporary), digest)
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        raise UnusableInput(
            f"cannot download {url} to {folder}: {error}; get the file some other way and pass NAME=PATH"
        ) from error
    return path


def head_name(network: Network) -> str:
    """Returns the name of the network's last layer."""
    return next(name for name, module in network.named_modules() if module is network.head)


def _triple(text: str) -> Triple:
    red, green, blue = map(float, text.split(","))
    return red, green, blue


def with_sorted_header(data: bytes) -> bytes:
    """Returns the bytes with sorted keys in the header, since the library's order varies between calls."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]
