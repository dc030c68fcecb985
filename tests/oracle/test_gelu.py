"""GELU and its derivative by SciPy's normal distribution."""

import numpy as np
from scipy.stats import norm

from oracle.gelu import gelu


def test_values_and_derivatives_are_those_of_the_normal_distribution():
    x = np.append(np.linspace(-40, 40, 100_001, dtype=np.float32), np.float32("nan"))
    exact, slope, y = x.astype(float), x.copy(), np.empty_like(x)
    gelu(slope, y)
    np.testing.assert_allclose(y, exact * norm.cdf(exact), rtol=2e-7, atol=5e-7)
    np.testing.assert_allclose(slope, norm.cdf(exact) + exact * norm.pdf(exact), atol=5e-7)
