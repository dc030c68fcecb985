"""Linear heads: logistic regression on frozen features."""

import torch
from torch.nn.functional import cross_entropy

from submission.arrays import FloatArray, IntArray

STRENGTH = 0.007
"""Inverse weight C of the squared norm, like scikit-learn's: the likelihood is summed over images."""
STEPS = 300
HISTORY = 10
"""Steps that L-BFGS remembers, each in two arrays of the weights' size."""

Linear = tuple[FloatArray, FloatArray]
"""Weight (k, d) and bias (k,): logits are features @ weight.T + bias."""


def fit_linear(features: FloatArray, labels: IntArray, classes: int, strength: float = STRENGTH) -> Linear:
    """Returns a logistic regression of labels (n,) on features, float32 (n, d), by L-BFGS.

    It minimises |W|^2 / 2 + `strength` * (sum of the negative log-likelihoods), as scikit-learn does,
    on standardised features; the standardisation is folded into the returned weights.
    """
    rows, truth = torch.from_numpy(features), torch.from_numpy(labels)
    scale, mean = torch.std_mean(rows, dim=0, correction=0)
    scale[scale == 0] = 1
    rows = (rows - mean) / scale
    weight = torch.zeros(classes, rows.shape[1], requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=STEPS, history_size=HISTORY, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        """Returns the mean loss, with its gradient in weight and bias."""
        optimizer.zero_grad()
        found = cross_entropy(rows @ weight.T + bias, truth)
        found = found + weight.square().sum() / (2 * strength * len(rows))
        found.backward()
        return found

    optimizer.step(loss)
    folded = weight.detach() / scale
    return folded.numpy(), (bias.detach() - folded @ mean).numpy()
