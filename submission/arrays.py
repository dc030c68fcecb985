"""The types of arrays. Docstrings give an array's shape after its name.

`logits (n, k)` has a row for each of n images and a column for each of k classes; `features (n, d)` has a
column for each of d features; `images (n, h, w, 3)` are h pixels high and w pixels wide, and the last axis is
red, green, blue. Other letters are explained where they are used. Arrays have no unit unless their docstring
names one: shares and accuracies are fractions in [0, 1]; percentage points are used only to show scores.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Real numbers (...): float64 for sums and statistics, float32 for outputs of a network."""
IntArray = NDArray[np.int64]
"""Whole numbers (...): labels (n,), indices (n,), counts."""
Pixels = NDArray[np.uint8]
"""Images (n, h, w, 3), or one (h, w, 3), red, green and blue from 0 to 255."""
BoolArray = NDArray[np.bool_]
"""Truth values (...), mostly one of each image (n,)."""
