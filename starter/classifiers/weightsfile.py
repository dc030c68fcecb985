"""WeightsFile: the tensors of a file and what it tells about them, read without unpickling anything."""

import json
import reprlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from torch import Tensor

from submission.errors import UnusableInput

#: Of CIFAR-10 on [0, 1], as the official weights were trained: for files that do not tell theirs.
CIFAR10_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR10_STD = (0.2023, 0.1994, 0.2010)

Triple = tuple[float, float, float]


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
        """The architecture that the file tells, if it does."""
        return self.metadata.get("arch")

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names that the file tells, if it does."""
        if "classes" not in self.metadata:
            return None
        try:
            classes = json.loads(self.metadata["classes"])
        except (ValueError, RecursionError):
            classes = None
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise UnusableInput(f"{self.path}: its metadata `classes` is not a JSON list of names")
        return tuple(classes)

    @property
    def mean(self) -> Triple:
        """Of the input, RGB on [0, 1]; CIFAR-10's where the file does not tell."""
        return self._triple("mean", CIFAR10_MEAN)

    @property
    def std(self) -> Triple:
        """Of the input, RGB on [0, 1]; CIFAR-10's where the file does not tell."""
        return self._triple("std", CIFAR10_STD)

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
    """The state_dict, plain or under the key "state_dict"; the prefix of DataParallel is dropped."""
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
    """torch.save does not compress: a file that unpacks to more than itself was made to fill the memory."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:
                raise ValueError("compressed")
