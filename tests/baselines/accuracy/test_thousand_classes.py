"""Every method that is not dear predicts a set of 1,000 classes."""

import pytest
from sklearn.base import clone

from baselines.contract import conformance
from unseen.api.methods import SLOW, methods_of


@pytest.fixture(scope="module")
def meta():
    """Three sets of 20 images and a source of 200, in which most classes have no image."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conformance, "CLASSES", 1000)
        return conformance.example_meta_train(sets=3, n=20)


METHODS = sorted(set(methods_of("accuracy")) - set(SLOW))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.slow
def test_a_method_stands_a_thousand_classes(name, meta):
    method = clone(methods_of("accuracy")[name]).fit(meta)
    (found,) = method.predict([meta.sets[1]])
    assert 0 <= found <= 1
