"""What chance gives to a mix's FPR, with either threshold."""

from dataclasses import replace

import numpy as np
import pytest
from mixes import gaussian_mixes

from baselines.ood.scored import mix_scores
from baselines.report.noise_floor import deviations
from starter.detectors.metrics import fpr

META = gaussian_mixes(sets=6, n=400)


@pytest.mark.parametrize("threshold", ["pool", "mix"])
def test_deviations_are_those_of_drawing_the_images_again(threshold):
    rng = np.random.default_rng(1)
    wanted = []
    for mix, ood in zip(META.sets, META.ood, strict=True):
        scores, values = mix_scores(mix), []
        for _ in range(300):
            kept, new = (rng.choice(scores[part], part.sum()) for part in (~ood, ood))
            pool = rng.choice(META.source.scores, len(META.source.scores))
            values.append(fpr(pool if threshold == "pool" else kept, new))
        wanted.append(np.std(values))
    found = deviations(replace(META, fpr=threshold), "fpr95")
    np.testing.assert_allclose(found, wanted, rtol=0.25)


def test_a_threshold_from_few_images_adds_to_chance():
    pool, mix = (deviations(replace(META, fpr=threshold), "fpr95").mean() for threshold in ("pool", "mix"))
    assert mix > 1.2 * pool
