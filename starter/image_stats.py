"""Image indicators of SYP: pixel variance, pixel entropy and Laplacian variance, batched."""

import torch

# OpenCV's RGB -> grey weights in 15-bit fixed point (ITU-R BT.601), so that grey values equal cv2.cvtColor's.
_GREY = (9798, 19235, 3735)
_ENTROPY_TABLE = torch.arange(256, dtype=torch.float64) / 256
_ENTROPY_TABLE = (-_ENTROPY_TABLE * torch.log(_ENTROPY_TABLE + 1e-6)).float()


def grey(images: torch.Tensor) -> torch.Tensor:
    """uint8 RGB (n, 3, h, w) -> integer-valued float32 grey (n, h, w), as `cv2.cvtColor` rounds it."""
    r, g, b = images.int().unbind(1)
    return ((r * _GREY[0] + g * _GREY[1] + b * _GREY[2] + (1 << 14)) >> 15).float()


def image_stats(images: torch.Tensor) -> torch.Tensor:
    """The three image indicators of each image.

    Args:
        images: uint8 (n, 3, h, w), RGB.

    Returns:
        float32 (n, 3): the variance of all pixel values on [0, 255] (SYP eq. 8); the mean of
        -x log(x + 1e-6) with x = value / 256, the winner's reading of eq. 9; the variance of the Laplacian
        of the grey image (eqs. 10-11; kernel [[0,1,0],[1,-4,1],[0,1,0]], borders reflected without
        repeating the edge, as `cv2.Laplacian`).
    """
    values = images.flatten(1)
    variance = values.double().var(dim=1, correction=0)
    entropy = _ENTROPY_TABLE.to(images.device)[values.int()].double().mean(dim=1)
    padded = torch.nn.functional.pad(grey(images)[:, None], (1, 1, 1, 1), mode="reflect")[:, 0]
    laplacian = (
        padded[:, :-2, 1:-1]
        + padded[:, 2:, 1:-1]
        + padded[:, 1:-1, :-2]
        + padded[:, 1:-1, 2:]
        - 4 * padded[:, 1:-1, 1:-1]
    )
    blur = laplacian.flatten(1).double().var(dim=1, correction=0)
    return torch.stack([variance, entropy, blur], dim=1).float()
