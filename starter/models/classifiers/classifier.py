"""Classifier: a frozen network together with its input normalisation."""

import copy
import hashlib
import math
import reprlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from starter.models.classifiers.engine import Runner, place, tell_differences
from starter.models.classifiers.networks.network import Network, Part
from starter.models.classifiers.specs import Spec
from submission.arrays import FloatArray, Pixels
from submission.errors import UnusableInput, tell_once, why

PASS = 1 << 21
"""Largest number of pixels in one pass of a network: 500 images of 64 x 64, 41 of 224 x 224."""

Images = Pixels | Tensor


@dataclass(frozen=True, eq=False)
class Classifier:
    """A frozen network: `logits, features = classifier(images)`.

    Images are uint8 RGB, a NumPy array (n, h, w, 3) or a tensor (n, 3, h, w), n >= 1. They go through the
    network in passes of at most `PASS` pixels, so that large images need no more memory than small ones.
    BatchNorm uses its running statistics: an image's logits do not depend on the others in its pass, up to
    rounding with PyTorch, exactly with OpenVINO, where they do not depend on the number of threads either.

    `arch` is as weights files name it. `classes` are in the order of the logits; mean and standard deviation
    are of the input on [0, 1], RGB. The head is applied in float32 in any precision. `network` is copied on
    construction; `deployed` is it, folded for inference, with the same results.
    """

    name: str
    arch: str
    network: Network
    classes: tuple[str, ...]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    precision: str = "float32"
    device: str = "cpu"
    engine: str = "torch"
    deployed: Network = field(init=False, repr=False)
    _runners: dict[str, Runner] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise UnusableInput(f"{self}: {problem}")
        check_device(self.device)
        network = copy.deepcopy(self.network).cpu().eval().requires_grad_(False)
        for form, stored in (("deployed", network.folded()), ("network", network)):
            object.__setattr__(self, form, stored.to(self.device).to(memory_format=network.layout))
        for name, kind in (("classes", str), ("mean", float), ("std", float)):
            object.__setattr__(self, name, tuple(map(kind, getattr(self, name))))

    def __str__(self) -> str:
        return f"classifier {self.name!r}"

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to pickle, without the compiled networks, which are compiled again."""
        return {**vars(self), "_runners": {}}

    def _problem(self) -> str:
        """Returns the first fault of the fields; "" if there is none."""
        if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
            return f"classes must be two or more different names, got {reprlib.repr(self.classes)}"
        if not all(label.strip() and label.isprintable() for label in self.classes):
            return f"classes must have printable names, got {reprlib.repr(self.classes)}"
        if self.network.head and self.network.head.out_features != len(self.classes):
            return f"network has {self.network.head.out_features} outputs for {len(self.classes)} classes"
        scales = *self.mean, *self.std
        if len(self.mean) != 3 or len(self.std) != 3 or not np.isfinite(scales).all() or min(self.std) <= 0:
            return f"mean must be three numbers and std three positive ones, got {self.mean}, {self.std}"
        return ""

    @torch.inference_mode()
    def __call__(self, images: Images) -> tuple[Tensor, Tensor]:
        """Returns float32 logits (n, k) and penultimate features (n, d) of images; d is 0 without a head."""
        step = max(3 * PASS // max(math.prod(images.shape[1:]), 1), 1)
        seen = [self._seen(images[first : first + step]) for first in range(0, max(len(images), 1), step)]
        logits, features = (torch.cat(part) for part in zip(*seen, strict=True))
        finite = torch.isfinite(logits).all(dim=1)
        if not finite.all():
            bad = int((~finite).sum())
            raise UnusableInput(
                f"{self} gives NaN or infinite logits for {bad} of {len(finite)} images: check its weights "
                "and its normalisation"
            )
        return logits, features

    def _seen(self, images: Images) -> tuple[Tensor, Tensor]:
        """Returns logits and features of images in one pass, whatever their values; raises as a call does."""
        inputs = self.normalised(images)
        features = self.features_of(inputs)
        if self.network.head:
            (logits,) = self._part("head", features)
        else:
            logits, features = features, features.new_empty(len(inputs), 0)
        if logits.shape != (len(inputs), len(self.classes)):
            raise UnusableInput(
                f"{self} gives outputs {tuple(logits.shape)} for {len(inputs)} images of {len(self.classes)} "
                "classes"
            )
        return logits, features

    def features_of(self, inputs: Tensor) -> Tensor:
        """Returns the features, float32 (n, d), of `normalised` images, whatever their values."""
        (features,) = self._part("features", inputs)
        return features

    @torch.inference_mode()
    def stages(self, images: Images) -> list[Tensor]:
        """Returns the feature maps after each stage, each float32 (n, c, h', w'); raises as a call does."""
        return list(self._part("stages", self.normalised(images)))

    def left_to_torch(self, images: Images) -> bool:
        """Returns True if the engine cannot take a part of the network, which PyTorch then computes."""
        self(images)
        return any(runner.left_to_torch for runner in self._runners.values())

    @property
    def logits_alone(self) -> bool:
        """True if the network has no linear head, and therefore no features."""
        return self.network.head is None

    @cached_property
    def head_weight(self) -> FloatArray:
        """The last layer's weight, float32 (k, d); (k, 0) for logits alone."""
        if self.network.head is None:
            return np.empty((len(self.classes), 0), np.float32)
        return self.network.head.weight.cpu().numpy().copy()

    @cached_property
    def head_bias(self) -> FloatArray:
        """The last layer's bias, float32 (k,); zeros if it has none."""
        if self.network.head is None or self.network.head.bias is None:
            return np.zeros(len(self.classes), np.float32)
        return self.network.head.bias.cpu().numpy().copy()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the logits depend on, so neither the name nor the `place`, in hexadecimal."""
        arch = (self.arch, self.network.code)
        digest = hashlib.sha256(repr((arch, self.mean, self.std, self.classes, self.precision)).encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            values = tensor.cpu().contiguous().numpy()
            digest.update(repr((name, str(values.dtype), values.shape)).encode())
            digest.update(values.tobytes())
        return digest.hexdigest()

    @cached_property
    def place(self) -> str:
        """What computes the logits, see `place`."""
        return place(self.engine, self.precision, self.device)

    def _part(self, name: str, inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns the results of a part of the network, float32, from the engine that this machine uses."""
        tell_differences(self.engine, self.precision, self.device)
        if name not in self._runners:
            precision = "float32" if name == "head" else self.precision
            asked = (Part(self.deployed, name), str(self), self.engine, precision, self.device)
            self._runners[name] = Runner(*asked, own_code=bool(Spec.parse(self.arch).own_code))
        try:
            return self._runners[name](inputs)
        except RuntimeError as error:
            if len(inputs) == 1 or not isinstance(error, torch.OutOfMemoryError):
                size = " x ".join(map(str, inputs.shape[:1:-1]))
                reason = f"cannot take {len(inputs)} images of {size} pixels: {why(error)}"
                raise UnusableInput(f"{self} {reason}") from error
        tell_once(f"{self} finds too little memory on {self.device}: its batches are halved")
        halves = [self._part(name, half) for half in inputs.chunk(2)]
        return tuple(torch.cat(pair) for pair in zip(*halves, strict=True))

    def normalised(self, images: Images) -> Tensor:
        """Returns uint8 images of either layout as float32 (n, 3, h, w), in the network's, on the device."""
        if isinstance(images, np.ndarray):
            images = torch.from_numpy(images.copy())
            images = images.movedim(-1, 1) if images.ndim == 4 else images
        if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3 or 0 in images.shape:
            raise ValueError(
                f"{self}: images must be uint8, an array (n, h, w, 3) or a tensor (n, 3, h, w) with n >= 1, "
                f"got {images.dtype} with channels-first shape {tuple(images.shape)}"
            )
        inputs = images.to(self.device).float().div_(255)
        mean, std = torch.tensor([self.mean, self.std], device=self.device).view(2, 3, 1, 1)
        return inputs.sub_(mean).div_(std).contiguous(memory_format=self.network.layout)


def check_device(device: str) -> None:
    """Check that tensors can be made and computed with on `device`."""
    try:
        (torch.ones(1, device=device) + 1).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        raise UnusableInput(f"device {device!r} cannot be used here: {why(error)}") from error
