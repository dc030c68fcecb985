"""The tensors and metadata of a weights file: read without unpickling, and checked against a network.

Reading and checks are in one module, since the data are trusted only after the checks.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from torch import Tensor

from starter.classifiers.networks.body import BodyNetwork, Triple, with_body
from starter.classifiers.networks.network import Network
from submission.errors import UnusableInput, unusable, why

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Supported dtypes of weights; narrower ones need scales that the kit does not know."""
SHOWN_PROBLEMS = 3


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
        """Read .safetensors, or .pt and .pth by `torch.load(weights_only=True)`."""
        try:
            path = path.expanduser()
            if not path.is_file():
                raise FileNotFoundError("no such file")
            if path.suffix == ".safetensors":
                with safetensors.safe_open(path, framework="pt") as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                    return cls(path, tensors, file.metadata() or {})
        except (safetensors.SafetensorError, OSError, RuntimeError) as error:
            raise unusable(f"weights {path}", f"cannot be read ({why(error)})") from error
        if path.suffix not in (".pt", ".pth"):
            raise unusable(f"weights {path}", "the name must end in .safetensors, .pt or .pth")
        return cls(path, _read_pytorch(path), {})

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
            raise unusable(self.path, "its metadata `classes` is not a JSON list of names")
        return tuple(classes)

    def normalisation(self, mean: Triple, std: Triple) -> tuple[Triple, Triple]:
        """Returns mean and standard deviation of the input, RGB on [0, 1]: the file's or the given ones."""
        return self._triple("mean", mean), self._triple("std", std)

    def _triple(self, key: str, default: Triple) -> Triple:
        if key not in self.metadata:
            return default
        text = self.metadata[key]
        try:
            red, green, blue = map(float, text.split(","))
        except ValueError:
            reason = f"its metadata `{key}` is not three numbers: {text[:40]!r}"
            raise unusable(self.path, reason) from None
        return red, green, blue

    def fitted(self, arch: str, network: Network) -> dict[str, Tensor]:
        """Returns the tensors in the dtypes of `network`, which messages call `arch`, after checks."""
        found = with_body(self.tensors) if isinstance(network, BodyNetwork) else self.tensors
        expected = network.state_dict()
        if network.head:
            weight, outputs = found.get(f"{head_name(network)}.weight"), network.head.out_features
            if weight is not None and weight.ndim == 2 and len(weight) != outputs:
                raise OtherClasses(f"{self.path} tells {len(weight)} classes apart, not {outputs}")
        # Old files lack the counters of BatchNorm, which do not bear on the logits.
        counters = {name: torch.tensor(0) for name in expected if name.endswith(".num_batches_tracked")}
        tensors = {**counters, **found}
        problems = [f"it lacks {name}" for name in expected if name not in tensors]
        problems += [f"its {name[:100]!r} is unexpected" for name in tensors if name not in expected]
        for name in (name for name in expected if name in tensors):
            problem = _problem(tensors[name], expected[name])
            problems += [f"its {name} {problem}"] if problem else []
        if problems:
            more = f"; and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
            raise UnusableInput(
                f"{self.path} does not fit {arch}: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}"
            )
        return {name: tensor.to(expected[name].dtype) for name, tensor in tensors.items()}


def head_name(network: Network) -> str:
    """Returns the name of the network's last layer."""
    return next(name for name, module in network.named_modules() if module is network.head)


def _read_pytorch(path: Path) -> dict[str, Tensor]:
    """Returns the state_dict, plain or under the key "state_dict"; the prefix of DataParallel is dropped."""
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        raise unusable(
            path,
            "damaged, or holds more than weights: PyTorch's weights_only loading refuses it; save the "
            "model's state_dict(), as safetensors or with torch.save",
        ) from error
    if isinstance(loaded, dict):
        loaded = loaded.get("state_dict", loaded)
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise unusable(path, "holds no state_dict: save the model's state_dict()")
    return {str(name).removeprefix("module."): tensor for name, tensor in loaded.items()}


def _problem(tensor: Tensor, expected: Tensor) -> str | None:
    """Returns the reason why a tensor cannot take the place of the `expected` one."""
    if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
        return "is not a dense tensor with values: save plain float32 weights"
    if tensor.shape != expected.shape:
        return f"has shape {tuple(tensor.shape)} instead of {tuple(expected.shape)}"
    if expected.is_floating_point() and tensor.dtype not in FLOATS:
        return f"is {tensor.dtype}: save float32, float16 or bfloat16 weights"
    if not tensor.to(expected.dtype).isfinite().all():
        return "holds NaN or infinite values"
    return None


def with_sorted_header(data: bytes) -> bytes:
    """Returns the bytes with sorted keys in the header, since the library's order varies between calls."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]
