"""Deng & Zheng's group B: more operations of their code, like group A, with imgaug's defaults.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. Hue and saturation are real
numbers here; imgaug has 8-bit numbers, and hue in steps of 2 degrees. Rain is always light grey, as it is in
imgaug for all images but nearly dry ones.
"""

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn.functional import interpolate

from starter.operations.default import TRANSFORMS, blend, draw_per_channel, sum_of_three
from starter.operations.filters import gaussian_each, jpeg, read_at, weighted_sum
from starter.operations.kernels import add_slopes, stretch_saturation, turn_hue
from starter.operations.operation import (
    Magnitudes,
    Operation,
    Params,
    by_tiles,
    compiled,
    per_image,
    to_uint8,
)


def _draw_mild_contrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": draw_per_channel(rng, n, 0.5, 1.5, share=0.5)}


def _draw_rain(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {
        "layers": rng.integers(1, 3, n, endpoint=True),
        "density": rng.uniform(0.03, 0.14, (n, 3)),
        "patchiness": rng.uniform(0, 0.2, (n, 3)),
        "degrees": rng.uniform(75, 105, (n, 3)),
        "speed": rng.uniform(0.1, 0.5, (n, 3)),
    }


def _rain(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Add one to three `layers` of light grey streaks."""
    result = images.clone()
    for layer in range(3):
        rows = np.flatnonzero(magnitudes["layers"] > layer)
        drawn = {name: values[rows, layer] for name, values in magnitudes.items() if name != "layers"}
        if len(rows):
            under = torch.from_numpy(result.numpy()[rows])
            result.numpy()[rows] = _rain_layer(under, drawn, noise).numpy()
    return result


def _rain_layer(images: Tensor, magnitudes: Magnitudes, noise: Generator) -> Tensor:
    """Returns the image under a layer of drops: a pixel has a drop with probability `density`.

    Drops are thinned out in places by `patchiness` and blurred in the direction `degrees` over a length of
    `speed` times the image's size.
    """
    b, _, h, w = images.shape
    small = [max(int(0.985 * side), 1) for side in (h, w)]
    density, patchiness = (magnitudes[name][:, None, None, None] for name in ("density", "patchiness"))
    light = 127.5 + 127.5 * np.abs(np.cos(np.pi * noise.random((b, 1, *small))))
    light *= noise.random(light.shape) < density
    gate = _resized(torch.from_numpy(1 - noise.random((b, 1, 8, 8)) ** (1 / patchiness)).float(), small)
    drops = to_uint8(torch.from_numpy(light).float().mul_(gate))
    drops = to_uint8(_resized(drops.float(), [h, w])).float()
    length = torch.from_numpy(np.maximum((magnitudes["speed"] * max(h, w)).astype(np.int64) // 2 * 2, 2))
    return by_tiles(_streaked, images, drops, length, torch.from_numpy(magnitudes["degrees"]))


def _streaked(images: Tensor, drops: Tensor, length: Tensor, degrees: Tensor) -> Tensor:
    """Lay drops (b, 1, h, w) over the images, blurred along a half-line on which they fade."""
    b, _, h, w = images.shape
    dx, dy = (turned.float().view(b, 1, 1) for turned in (degrees.deg2rad().cos(), degrees.deg2rad().sin()))
    x, y = torch.arange(w).float().expand(b, h, w), torch.arange(h).float().view(h, 1).expand(b, h, w)
    weights = (1 - torch.arange(int(length.max())) / length[:, None]).clamp(min=0)
    weights /= weights.sum(1, keepdim=True)
    light = weighted_sum(
        (weight, read_at(drops, x + step * dx, y + step * dy, "mirror"))
        for step, weight in enumerate(weights.view(b, -1, 1, 1, 1).unbind(1))
    )
    share = light.mul_(1.3 / 255).clamp_(max=1)
    return (240 - images.float()).mul_(share).add_(images)


def _resized(values: Tensor, size: list[int]) -> Tensor:
    return interpolate(values, size, mode="bicubic", align_corners=False)


def _draw_jpeg(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"compression": rng.uniform(70, 99, n)}


def _jpeg(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Compress as JPEG, with quality 100 at a `compression` of 0 and quality 3 at 99."""
    quality = np.rint(100 - 99 * magnitudes["compression"].astype(np.int64) / 101)
    return jpeg(images, quality.astype(np.int64).tolist())


def _draw_soften(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"sigma": rng.uniform(0, 3, n)}


def _soften(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Blur by a Gaussian over 5 x 5 pixels, or over 3.3 sigma if that is more."""
    sigma = torch.from_numpy(magnitudes["sigma"])
    radius = (3.3 * sigma).clamp(min=5).long() // 2
    return to_uint8(gaussian_each(images.float(), sigma, radius), 0.5)


def _draw_sharpness(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0, 2, n)}


def _sharpness(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Smooth (`factor` 0), keep (1) or sharpen (2) the image, as Pillow's `ImageEnhance.Sharpness`.

    The outermost rows and columns stay as they are.
    """
    return by_tiles(_sharpened, images, per_image(magnitudes["factor"]))


def _sharpened(images: Tensor, factor: Tensor) -> Tensor:
    whole, values = images.to(torch.int16), images.float()
    smooth = sum_of_three(sum_of_three(whole, 2), 3).add_(whole, alpha=4).float().add_(6.5).div_(13).floor_()
    edges = values.clone()
    inside = (..., slice(1, -1), slice(1, -1))
    edges[inside] = smooth[inside]
    return blend(edges, values, factor)


def _draw_hue(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0.5, 1.5, n)}


def _hue(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Multiply H of HSV, in [0, 1), by `factor` and drop whole turns."""
    return compiled(turn_hue, images, magnitudes["factor"].astype(np.float32))


def _draw_emboss(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"alpha": rng.uniform(0, 0.5, n), "relief": rng.uniform(0.5, 1.5, n)}


def _emboss(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1 - r, -r, 0], [-r, 1, r], [0, r, 1 + r]]; r is the `relief`."""
    alpha, relief = magnitudes["alpha"], magnitudes["relief"]
    diagonal, straight = (alpha * (1 + relief)).astype(np.float32), (alpha * relief).astype(np.float32)
    return compiled(add_slopes, images, diagonal, straight)


def _draw_saturation(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"offset": rng.integers(-50, 50, n, endpoint=True)}


def _saturation(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Add `offset` to S of HSV, in 0..255."""
    offsets = (magnitudes["offset"] / 255).astype(np.float32)
    return compiled(stretch_saturation, images, 1.0, offsets, 0.5)


#: Group B by name.
GROUP_B: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            "mild_contrast",
            TRANSFORMS["contrast"].apply,
            _draw_mild_contrast,
            neutral={"factor": 1},
            variant_of="contrast",
        ),
        Operation("rain", _rain, _draw_rain, neutral={"density": 0}),
        Operation("jpeg", _jpeg, _draw_jpeg, neutral={"compression": 0}, variant_of="jpeg_compression"),
        Operation("soften", _soften, _draw_soften, neutral={"sigma": 0}, variant_of="gaussian_blur"),
        Operation("sharpness", _sharpness, _draw_sharpness, neutral={"factor": 1}, variant_of="sharpen"),
        Operation("hue", _hue, _draw_hue, neutral={"factor": 1}),
        Operation("emboss", _emboss, _draw_emboss, neutral={"alpha": 0}),
        Operation("saturation", _saturation, _draw_saturation, neutral={"offset": 0}, variant_of="saturate"),
    )
}
