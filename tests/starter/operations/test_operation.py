"""Parameters, magnitudes at a strength, and what all operations share."""

import numpy as np
import pytest
import torch
from numpy.random import Generator, Philox

from starter.operations.operation import TILE, Operation, Parameter, by_tiles, to_uint8


def philox(key: int = 0) -> Generator:
    return Generator(Philox(key=key))


def test_parameters_say_what_they_take() -> None:
    severity = Parameter(int, 1, 5)
    assert severity(3) is None
    assert severity(6) == "must be an integer from 1 to 5, got 6"
    assert "an integer" in str(severity(True))
    for value in (float("nan"), float("inf"), 10**400):
        assert "a number of at least 0.5" in str(Parameter(float, 0.5)(value))


def test_parameters_are_drawn_from_their_weaker_part() -> None:
    severity = Parameter(int, 1, 5)
    for strength, values in ((1, {1, 2, 3, 4, 5}), (0.5, {1, 2, 3}), (0.1, {1})):
        assert {severity.draw(philox(key), strength) for key in range(60)} == values


DRAWN = {
    "factor": np.array([0.5, 3], np.float32),
    "steps": np.array([10, 5]),
    "applied": np.array([True, False]),
}
BLEND = Operation(
    "blend",
    lambda images, drawn, noise: images,
    lambda rng, n: DRAWN,
    {},
    {"factor": 1, "steps": 0},
)


def test_a_strength_moves_magnitudes_towards_neutral_and_keeps_their_types() -> None:
    weaker = BLEND.magnitudes(philox(), 2, {"strength": 0.5})
    np.testing.assert_array_equal(weaker["factor"], [0.75, 2])
    np.testing.assert_array_equal(weaker["steps"], [5, 2])
    np.testing.assert_array_equal(weaker["applied"], [True, False])
    assert all(weaker[name].dtype == DRAWN[name].dtype for name in DRAWN)
    np.testing.assert_array_equal(BLEND.magnitudes(philox(), 2, {"strength": 0})["factor"], [1, 1])
    assert BLEND.magnitudes(philox(), 2, {}) is DRAWN


def test_params_are_drawn_with_a_strength_where_there_is_one_to_have() -> None:
    plain = Operation("plain", BLEND.apply, parameters={"severity": Parameter(int, 1, 5)})
    assert BLEND.draw_params(philox()) == {}
    assert BLEND.draw_params(philox(), 0.25) == {"strength": 0.25}
    assert plain.draw_params(philox(), 0.1) == {"severity": 1}
    assert set(BLEND.optional) == {"strength"}
    assert plain.optional == {}


@pytest.mark.parametrize("n", [1, TILE, 2 * TILE + 7])
def test_tiles_come_to_the_same_as_the_whole(n: int) -> None:
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (n, 3, 2, 2), dtype=np.uint8))
    factors, sizes = torch.rand(n, 1, 1, 1) * 2, []

    def step(images: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
        sizes.append(len(images))
        return images * factors

    assert torch.equal(by_tiles(step, images, factors), to_uint8(images * factors))
    assert max(sizes) <= TILE
    assert sum(sizes) == n
