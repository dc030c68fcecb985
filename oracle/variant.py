"""The nine differences between the code that SYP's authors released and their paper."""

from starter.observing.observation import Source
from submission.errors import UnusableInput

PARTS = {
    "scaling": "training rows are scaled by the range over all sets together, a test set by its own range",
    "atc": "t - entropy (RepVGG: entropy / t) in place of a binary ATC",
    "deviation": "the pixels' standard deviation in place of their variance",
    "laplacian": "the Laplacian of the normalised image cast to uint8",
    "batches": "each step uses one whole set, in the order of the sets",
    "decay": "the rate falls as (1 - step / steps)^0.9",
    "biases": "no weight decay on biases (RepVGG)",
    "rate": "ORA-B learns at a rate of 0.05, ORA-A at 0.1 (RepVGG)",
    "weight": "no larger weight in the loss of right images in sets of low accuracy (others than RepVGG)",
}
"""Description of each part of the released code that differs from the paper."""
REPLACED = {
    ("atc", "atc"): "atc_released",
    ("variance", "deviation"): "deviation",
    ("laplacian", "laplacian"): "laplacian_cast",
}
"""The released indicator in place of the paper's, by the paper's and the part that replaces it."""
RATE, RATE_B = 0.1, 0.05
"""The default learning rate, and the released one of ORA-B for a RepVGG."""
WEIGHT = 3.0
"""The default weight of right images in sets of low accuracy, the paper's."""


def parts_of(variant: str) -> frozenset[str]:
    """Returns which parts are as in the released code: of "paper" none, of "released" all, or those named."""
    if variant in ("paper", "released"):
        return frozenset(PARTS if variant == "released" else ())
    parts = [part.strip() for part in variant.split(",")]
    for part in parts:
        if part not in PARTS:
            known = ", ".join(PARTS)
            raise UnusableInput(f"variant must be paper, released or some of {known}, got {part!r}")
    return frozenset(parts)


def is_repvgg(source: Source) -> bool:
    """Returns True if the classifier is a RepVGG, for which the authors' code has other settings."""
    return source.classifier is not None and source.classifier.arch.startswith("repvgg")
