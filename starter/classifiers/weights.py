"""Reading and writing classifiers: weights become a Classifier only after every tensor has been checked."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from starter.classifiers.classifier import Classifier
from starter.classifiers.network import Network
from starter.classifiers.official import OFFICIAL, cache_folder, fetch
from starter.classifiers.repvgg import RepVGGA0
from starter.classifiers.resnet import ResNet56
from starter.classifiers.small import Small
from starter.classifiers.weightsfile import WeightsFile
from submission.errors import UnusableInput
from submission.files import replacing

#: Architecture -> network for a number of classes.
ARCHITECTURES: dict[str, Callable[[int], Network]] = {
    "repvgg_a0": RepVGGA0,
    "resnet56": ResNet56,
    "small": Small,
}

SHOWN_PROBLEMS = 3


def load_classifier(
    spec: str, classes: Sequence[str], precision: str = "float32", device: str = "cpu"
) -> Classifier:
    """The classifier that a command names as NAME=WEIGHTS.

    Args:
        spec: NAME is the classifier's name; WEIGHTS is `official` or the path of a .safetensors file, or of a
            .pt or .pth file with a state_dict. The architecture is the one that the file tells, else NAME.
        classes: the k class names, in the order of the logits.
        precision, device: as in Classifier.

    Raises:
        UnusableInput: no weights named, an unknown architecture or device, an unreadable file, or weights
            that do not fit.
    """
    name, _, weights = spec.partition("=")
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) is None:
        raise UnusableInput(f"classifier {spec!r}: a name has letters, digits, '.', '_' and '-' only")
    if not weights:
        official = f" or {name}=official" if name in OFFICIAL else ""
        raise UnusableInput(f"classifier {spec!r} has no weights: pass {name}=PATH{official}")
    if weights != "official":
        path = Path(weights).expanduser()
    elif name in OFFICIAL:
        path = fetch(OFFICIAL[name], cache_folder())
    else:
        raise UnusableInput(f"classifier {spec!r}: official weights exist for {', '.join(OFFICIAL)} only")
    file = WeightsFile.read(path)
    arch = file.arch or name
    if name in ARCHITECTURES and arch != name:
        raise UnusableInput(
            f"{path} holds {arch} weights: pass {arch}={path}, or a name that is no architecture"
        )
    if file.classes not in (None, tuple(classes)):
        known = ", ".join(file.classes or ())
        raise UnusableInput(f"{path} was made for the classes {known}, not for {', '.join(classes)}")
    return _classifier(file, name, arch, tuple(classes), precision, device)


def read_classifier(
    path: Path, name: str | None = None, precision: str = "float32", device: str = "cpu"
) -> Classifier:
    """What `save_classifier` wrote; `name` is the file's stem unless told otherwise.

    Raises:
        UnusableInput: the file is missing or damaged, or does not tell its architecture and classes.
    """
    file = WeightsFile.read(path)
    if file.arch is None or file.classes is None:
        raise UnusableInput(
            f"{path} does not tell its architecture and classes: load it as NAME=PATH instead"
        )
    return _classifier(file, name or path.stem, file.arch, file.classes, precision, device)


def save_classifier(classifier: Classifier, path: Path) -> None:
    """Write a classifier as safetensors, atomically; the same classifier always gives the same bytes.

    The metadata hold `arch`, `mean` and `std` (comma-separated) and `classes` (a JSON list). Name, precision
    and device are chosen on reading.
    """
    tensors = {name: tensor.cpu().contiguous() for name, tensor in classifier.network.state_dict().items()}
    metadata = {
        "arch": classifier.arch,
        "mean": ",".join(map(repr, classifier.mean)),
        "std": ",".join(map(repr, classifier.std)),
        "classes": json.dumps(classifier.classes),
    }
    with replacing(path) as temporary:
        temporary.write_bytes(_with_sorted_header(safetensors.torch.save(tensors, metadata)))


def _with_sorted_header(data: bytes) -> bytes:
    """The library writes the metadata in an order that changes from call to call; sort the header's keys."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _classifier(
    file: WeightsFile, name: str, arch: str, classes: tuple[str, ...], precision: str, device: str
) -> Classifier:
    if arch not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise UnusableInput(f"{file.path}: {arch!r} is no architecture of the kit, which has {known}")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UnusableInput(f"device {device!r} cannot be used here: {str(error).splitlines()[0]}") from error
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
        network = ARCHITECTURES[arch](len(classes))
    network.load_state_dict(_fitting(file, arch, network), assign=True)
    try:
        return Classifier(name, arch, network, classes, file.mean, file.std, precision, device)
    except ValueError as error:
        raise UnusableInput(f"{file.path}: {error}") from error


def _fitting(file: WeightsFile, arch: str, network: Network) -> dict[str, Tensor]:
    """The file's tensors in the network's own dtypes, after checking names, shapes and values."""
    expected = network.state_dict()
    head = next(name for name, module in network.named_modules() if module is network.head)
    weight = file.tensors.get(f"{head}.weight")
    if weight is not None and weight.ndim == 2 and len(weight) != network.head.out_features:
        raise UnusableInput(f"{file.path} tells {len(weight)} classes apart, not {network.head.out_features}")
    # Old files lack the counters of BatchNorm, which do not bear on the logits.
    counters = {name: torch.tensor(0) for name in expected if name.endswith(".num_batches_tracked")}
    tensors = {**counters, **file.tensors}
    problems = [f"it lacks {name}" for name in expected if name not in tensors]
    problems += [f"its {name} is unexpected" for name in tensors if name not in expected]
    for name in expected:
        given, right = tuple(tensors[name].shape) if name in tensors else None, tuple(expected[name].shape)
        if given not in (None, right):
            problems.append(f"its {name} has shape {given} instead of {right}")
    if not problems:
        tensors = {name: tensor.to(expected[name].dtype) for name, tensor in tensors.items()}
        bad = [name for name in expected if not tensors[name].isfinite().all()]
        problems = [f"its {name} holds NaN or infinite values" for name in bad]
    if problems:
        more = f"; and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise UnusableInput(f"{file.path} does not fit {arch}: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}")
    return tensors
