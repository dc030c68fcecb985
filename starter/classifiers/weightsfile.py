"""The tensors and metadata of a weights file: read without unpickling, and checked against a network.

Reading and checks are in one module, since the data are trusted only after the checks.
"""

import json
import reprlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import safetensors
import torch
from torch import Tensor

from starter.classifiers.networks.network import Network
from starter.classifiers.networks.zoo import LibraryNetwork, with_body
from submission.errors import UnusableInput

#: Of CIFAR-10 on [0, 1], as the official weights were trained: for files that do not tell theirs.
CIFAR10_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR10_STD = (0.2023, 0.1994, 0.2010)

Triple = tuple[float, float, float]
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Supported dtypes of weights; narrower ones need scales that the kit does not know."""
SHOWN_PROBLEMS = 3


class OtherClasses(UnusableInput):
    """Weights that are made for other classes than those that are given."""


@dataclass(frozen=True)
class WeightsFile:
    """Named tensors, and the metadata of a safetensors file (none for a PyTorch file)."""

    path: Path
    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "WeightsFile":
        """Read .safetensors, or .pt and .pth by `torch.load(weights_only=True)`.

        Raises:
            UnusableInput: the file is missing, cannot be read, is damaged, or holds more than weights.
        """
        try:
            path = path.expanduser()
            if not path.is_file():
                raise UnusableInput(f"weights {path}: {'not a file' if path.exists() else 'no such file'}")
            path.open("rb").close()
        except (OSError, RuntimeError) as error:
            raise UnusableInput(f"weights {path} cannot be read: {error}") from error
        if path.suffix == ".safetensors":
            return cls(path, *_read_safetensors(path))
        if path.suffix in (".pt", ".pth"):
            return cls(path, _read_pytorch(path), {})
        raise UnusableInput(f"weights {path}: the name must end in .safetensors, .pt or .pth")

    @property
    def arch(self) -> str | None:
        """The architecture in the file's metadata; None if it is missing."""
        return self.metadata.get("arch")

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names in the file's metadata; None if they are missing."""
        if "classes" not in self.metadata:
            return None
        try:
            classes = json.loads(self.metadata["classes"])
        except (ValueError, RecursionError):
            classes = None
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise UnusableInput(f"{self.path}: its metadata `classes` is not a JSON list of names")
        return tuple(classes)

    def normalisation(self, mean: Triple = CIFAR10_MEAN, std: Triple = CIFAR10_STD) -> tuple[Triple, Triple]:
        """Returns mean and standard deviation of the input, RGB on [0, 1]: the file's or the given ones.

        Raises:
            UnusableInput: the file's values are not three numbers.
        """
        return self._triple("mean", mean), self._triple("std", std)

    def _triple(self, key: str, default: Triple) -> Triple:
        if key not in self.metadata:
            return default
        text = self.metadata[key]
        try:
            red, green, blue = map(float, text.split(","))
        except ValueError:
            raise UnusableInput(
                f"{self.path}: its metadata `{key}` is not three numbers: {reprlib.repr(text)}"
            ) from None
        return red, green, blue


def _read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise UnusableInput(f"{path} is not a readable safetensors file: {error}") from error


def _read_pytorch(path: Path) -> dict[str, Tensor]:
    """Returns the state_dict, plain or under the key "state_dict"; the prefix of DataParallel is dropped."""
    try:
        _check_size(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        raise UnusableInput(
            f"{path} is damaged or holds more than weights: PyTorch's weights_only loading refuses it; save "
            "the model's state_dict(), as safetensors or with torch.save"
        ) from error
    if isinstance(loaded, dict):
        loaded = loaded.get("state_dict", loaded)
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise UnusableInput(f"{path} holds no state_dict: save the model's state_dict()")
    dense = [tensor for tensor in loaded.values() if tensor.layout == torch.strided]
    if any(tensor.untyped_storage().nbytes() > path.stat().st_size for tensor in dense):
        raise UnusableInput(f"{path} is damaged or holds more than weights: a tensor is larger than the file")
    return {str(name).removeprefix("module."): tensor for name, tensor in loaded.items()}


def _check_size(path: Path) -> None:
    """Refuse a compressed file, which may unpack to any size: torch.save does not compress."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:
                raise ValueError("compressed")


def fitting(file: WeightsFile, arch: str, network: Network) -> dict[str, Tensor]:
    """Returns the file's tensors in the dtypes of `network`, which messages call `arch`.

    Raises:
        UnusableInput: names, shapes or values do not fit; `OtherClasses` if only the classes differ.
    """
    if isinstance(network, LibraryNetwork):
        file = replace(file, tensors=with_body(file.tensors))
    expected = network.state_dict()
    if network.head:
        head = next(name for name, module in network.named_modules() if module is network.head)
        weight = file.tensors.get(f"{head}.weight")
        if weight is not None and weight.ndim == 2 and len(weight) != network.head.out_features:
            outputs = network.head.out_features
            raise OtherClasses(f"{file.path} tells {len(weight)} classes apart, not {outputs}")
    # Old files lack the counters of BatchNorm, which do not bear on the logits.
    counters = {name: torch.tensor(0) for name in expected if name.endswith(".num_batches_tracked")}
    tensors = {**counters, **file.tensors}
    problems = [f"it lacks {name}" for name in expected if name not in tensors]
    problems += [f"its {name[:100]!r} is unexpected" for name in tensors if name not in expected]
    for name in expected:
        problem = _problem(tensors[name], expected[name]) if name in tensors else None
        problems += [f"its {name} {problem}"] if problem else []
    if not problems:
        tensors = {name: tensor.to(expected[name].dtype) for name, tensor in tensors.items()}
        bad = [name for name in expected if not tensors[name].isfinite().all()]
        problems = [f"its {name} holds NaN or infinite values" for name in bad]
    if problems:
        more = f"; and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise UnusableInput(f"{file.path} does not fit {arch}: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}")
    return tensors


def _problem(given: Tensor, expected: Tensor) -> str | None:
    if given.layout != torch.strided or given.is_meta or given.is_quantized or given.is_nested:
        return "is not a dense tensor with values: save plain float32 weights"
    if given.shape != expected.shape:
        return f"has shape {tuple(given.shape)} instead of {tuple(expected.shape)}"
    if expected.is_floating_point() and given.dtype not in FLOATS:
        return f"is {given.dtype}: save float32, float16 or bfloat16 weights"
    return None


def with_sorted_header(data: bytes) -> bytes:
    """Returns the bytes with sorted keys in the header, since the library's order varies between calls."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]
