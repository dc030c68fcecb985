"""EI, effective invariance of the predicted class to rotation and loss of colour.

Paper: Deng, Gould & Zheng, "On the Strong Correlation Between Model Invariance and Generalization", NeurIPS
2022, arXiv 2207.07065.
"""

import numpy as np
from scipy.special import softmax

from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray


def ei(target: Observation, source: Source) -> float:
    """Effective invariance of predictions to rotation and loss of colour (Deng et al. 2022).

    Returns the mean, in [0, 1], over the images and four views of each. For a view t it is 1[y = y_t] sqrt(p
    p_t), where y and y_t are the classes predicted for the image and the view, and p and p_t their
    probabilities. The views are three rotations and the grey image, which the paper treats separately.
    """
    assert target.rotations is not None
    assert target.grey is not None
    views = (*target.rotations.values(), target.grey)
    return float(np.mean([invariance(target.logits, view) for view in views]))


def invariance(logits: FloatArray, view: FloatArray) -> FloatArray:
    """Returns sqrt(p p_t) of each image if both logits (n, k) predict the same class, else 0; (n,)."""
    same = logits.argmax(axis=1) == view.argmax(axis=1)
    p, p_view = (softmax(each.astype(np.float64), axis=1).max(axis=1) for each in (logits, view))
    return np.where(same, np.sqrt(p * p_view), 0.0)
