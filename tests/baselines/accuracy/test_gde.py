"""Agreement against a loop over images and peers."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of

from baselines.accuracy.gde import gde

ANY = source_of([[1.0, 0.0]], [0])


@pytest.mark.parametrize("name", LOGITS)
def test_gde_against_a_loop(name):
    logits = np.asarray(LOGITS[name], np.float32)
    rng = np.random.default_rng(0)
    views = {f"peer:{i}": (logits + rng.normal(size=logits.shape) * 10**i).astype(np.float32) for i in (0, 4)}
    shares = []
    for view in views.values():
        same = [int(np.argmax(row) == np.argmax(other)) for row, other in zip(logits, view, strict=True)]
        shares.append(sum(same) / len(same))
    assert gde(seen(logits, views=views), ANY) == pytest.approx(sum(shares) / 2)


def test_gde_is_1_with_a_twin_and_0_with_one_who_never_agrees():
    logits = np.eye(3, dtype=np.float32)
    assert gde(seen(logits, views={"peer:twin": logits}), ANY) == 1
    assert gde(seen(logits, views={"peer:other": np.roll(logits, 1, axis=1)}), ANY) == 0


def test_views_that_are_no_peers_do_not_count():
    logits = np.eye(3, dtype=np.float32)
    views = {"grey": np.roll(logits, 1, axis=1), "peer:twin": logits}
    assert gde(seen(logits, views=views), ANY) == 1
