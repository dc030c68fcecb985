"""The methods as a table."""

import pytest

import unseen
from submission import UnusableInput
from unseen.api.kit import EXPENSIVE, methods_of


@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_every_method_has_a_row(track):
    table = unseen.methods(track)
    assert list(table.index) == list(methods_of(track))
    assert {name for name in table.index if table.only_by_name[name]} <= set(EXPENSIVE)


def test_an_unknown_track_is_refused():
    with pytest.raises(UnusableInput, match="--track 'x' is unknown"):
        unseen.methods("x")
