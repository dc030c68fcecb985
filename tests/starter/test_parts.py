"""What the builds share: which test sets count for the public score."""

import pytest

from starter.parts import public_sets


def planned(*families):
    return [(f"test_{i:04d}", *key) for i, key in enumerate(families)]


@pytest.mark.parametrize(
    ("families", "most"),
    [
        ([("seen", f"f{i}") for i in range(10)] + [("unseen", f"g{i}") for i in range(10)], 6),
        ([("natural", "a"), ("unseen", "b")], 1),
        ([("natural", "a")] * 3, 1),
        ([("natural", "a"), ("natural", "a"), ("natural", "b")], 2),
    ],
)
def test_every_split_has_a_public_and_a_private_part(families, most):
    for seed in range(20):
        public = public_sets(planned(*families), seed)
        assert 0 < len(public) <= most
        assert len(public) < len(families)
