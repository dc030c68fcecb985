"""Numbers in the forms in which users have them: what is read, and what is refused in one line."""

import numpy as np
import pandas as pd
import pytest

from submission import UnusableInput
from unseen.estimation.arrays import check_order


def test_labels_in_another_order_than_the_logits_are_refused():
    logits = pd.DataFrame(np.zeros((60, 4)), index=np.random.default_rng(0).permutation(60))
    labels = pd.Series(np.arange(60) % 4, index=logits.index)
    check_order(labels, logits)
    check_order(labels.reset_index(drop=True).set_axis(range(100, 160)), logits)
    check_order(labels.sort_index().to_numpy(), logits)
    told = (
        r"^the indexes of labels and logits name the same rows in another order: give labels as labels\.loc\["
    )
    with pytest.raises(UnusableInput, match=told):
        check_order(labels.sort_index(), logits)
