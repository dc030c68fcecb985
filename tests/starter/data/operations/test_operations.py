"""The names of all operations and groups, what each promises, and groups default, a and b against naive forms."""

import numpy as np
import pytest
import torch
from naive import NAIVE, rain_layer
from numba import njit
from numpy.random import Generator, Philox
from tape import Tape, photographs, planar

from starter.data.operations import GROUPS, OPERATIONS, new_operations
from starter.data.operations.corruptions import CORRUPTIONS
from starter.data.operations.default import TRANSFORMS
from starter.data.operations.groups import GROUP_A, GROUP_B
from starter.data.operations.kernels import kernel
from starter.data.operations.natural import NATURAL
from starter.data.operations.operation import TILE, Operation, Parameter, by_tiles, to_uint8


def philox(key=0):
    return Generator(Philox(key=key))


def applied(name, images, params):
    operation = OPERATIONS[name]
    drawn = operation.magnitudes(philox(2), len(images), params)
    return operation.apply(images, {**params, **drawn}, philox(1))


def test_names_are_unique_and_wide_has_all_distortions():
    parts = (TRANSFORMS, GROUP_A, GROUP_B, CORRUPTIONS, NATURAL)
    assert len(OPERATIONS) == sum(len(part) for part in parts) == 46
    assert all(name == operation.name for name, operation in OPERATIONS.items())
    named = [name for group in ("default", "a", "b", "corruptions") for name in GROUPS[group]]
    assert sorted(named) == sorted(GROUPS["wide"]) == sorted(set(OPERATIONS) - {"identity", *NATURAL})
    assert [len(GROUPS[group]) for group in ("default", "a", "b", "corruptions")] == [7, 8, 8, 19]


def test_new_operations_have_no_variant_in_the_group():
    variants = {o.name: o.variant_of for o in OPERATIONS.values() if o.variant_of}
    assert variants["haze"] == "fog"
    assert not {OPERATIONS[family].variant_of for family in variants.values()} - {""}
    assert new_operations("default") == GROUPS["corruptions"]
    assert new_operations("corruptions") == GROUPS["default"]
    seen = {each: {*GROUPS["corruptions"]} - {*new_operations(each)} for each in ("a", "b", "natural-like")}
    assert seen["a"] == {"elastic_transform", "fog", "gaussian_noise"}
    assert seen["b"] == {"jpeg_compression", "gaussian_blur", "saturate"}
    assert seen["natural-like"] == {"jpeg_compression"}
    assert new_operations("wide") == ()


@pytest.mark.parametrize("name", OPERATIONS)
def test_uint8_of_the_same_shape_comes_out_and_the_input_stays(name):
    for size in ((24, 40), (5, 3), (3, 2), (2, 2), (1, 5), (1, 1)):
        images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (7, 3, *size), dtype=np.uint8))
        before = images.clone()
        for key in (1, 5):
            result = applied(name, images, dict.fromkeys(OPERATIONS[name].parameters, key))
            assert (result.dtype, result.shape) == (torch.uint8, images.shape), size
        assert torch.equal(images, before)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"shot_noise"}))
def test_an_image_comes_out_the_same_whatever_its_company(name):
    """From the same draws. (How many numbers a Poisson variate takes depends on its mean, so that shot noise
    is the same for the same chunk only.)
    """
    images = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (40, 3, 32, 32), dtype=np.uint8))
    params = dict.fromkeys(OPERATIONS[name].parameters, 4)
    whole = applied(name, images, params)
    images[:20] = 255 - images[:20]
    assert torch.equal(applied(name, images, params)[20:], whole[20:])


#: Autocontrast stretches without a cutoff too, a JPEG of quality 100 is still one, and the last point of a
#: piecewise affine grid, one past the last pixel, is not read from there.
NEVER_NEUTRAL = {"autocontrast", "jpeg", "reencode", "piecewise_affine"}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if OPERATIONS[name].neutral])
def test_at_no_strength_an_image_stays_and_change_grows_with_it(name):
    images = planar(photographs(40, 32, 32))
    change = [
        (applied(name, images, {"strength": strength}).float() - images).abs().mean().item()
        for strength in (0, 0.5, 1)
    ]
    assert change[0] <= change[1] <= change[2]
    assert change[0] < change[2]
    assert change[0] == 0 or name in NEVER_NEUTRAL


def noise_images(n, height, width):
    """(n, h, w, 3): noise, some of low contrast, some flat, with 0 and 255 among them."""
    rng = np.random.default_rng(height)
    images = rng.integers(0, 256, (n, height, width, 3))
    images[::4] = 90 + images[::4] // 5
    images[::7, :, :, 1] = 77
    images[::9, 0, 0] = 255
    images[1::9, 0, 0] = 0
    return images.astype(np.uint8)


def traced(name, images):
    """The result as (n, h, w, 3), the magnitudes, and the draws."""
    operation, tape = OPERATIONS[name], Tape(philox(1))
    drawn = operation.draw(philox(2), len(images))
    result = operation.apply(planar(images), drawn, tape)
    return result.permute(0, 2, 3, 1).numpy().astype(int), drawn, tape


CASES = [
    *((name, noise_images, size) for name in NAIVE if name in TRANSFORMS for size in ((32, 32), (7, 12))),
    *(("sharpen", noise_images, size) for size in ((2, 2), (1, 5), (6, 1))),
    *((n, photographs, size) for n in NAIVE if n not in TRANSFORMS for size in ((16, 16), (14, 19))),
]


@pytest.mark.parametrize(("name", "images", "size"), CASES)
def test_within_a_grey_level_of_the_naive_form(name, images, size):
    shown = images(40 if images is noise_images else 24, *size)
    result, drawn, tape = traced(name, shown)
    equal = []
    for row, image in enumerate(shown):
        magnitudes = {key: values[row] for key, values in drawn.items()}
        expected = np.asarray(NAIVE[name](image, magnitudes, tape.replay(row)), dtype=float)
        away = np.abs(result[row] - np.rint(expected.clip(0, 255)))
        assert away.max() <= 1, row
        equal.append((away == 0).mean())
    assert np.mean(equal) > (0.95 if name == "soften" else 0.99), "each is rounded, and once"


def test_rain_is_within_a_grey_level_a_layer_of_the_naive_form():
    """Where a cubic value lies at the edge of a whole number, a drop may differ by a level in each layer."""
    images = photographs(24, 32, 32)
    result, drawn, tape = traced("rain", images)
    assert len(tape.drawn) == 9
    for row, image in enumerate(images):
        expected = image.astype(float)
        for layer in range(drawn["layers"][row]):
            position = np.sum(drawn["layers"][:row] > layer)
            draws = [values[position] for values in tape.drawn[3 * layer : 3 * layer + 3]]
            magnitudes = {key: values[row, layer] for key, values in drawn.items() if key != "layers"}
            expected = rain_layer(expected, magnitudes, draws)
        assert np.abs(result[row] - expected).max() <= drawn["layers"][row]


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("brightness", "factor", 0.1, 1.9),
        ("color", "factor", 0, 3),
        ("contrast", "factor", 0.5, 2),
        ("solarize", "threshold", 32, 128),
        ("affine", "scale", 0.8, 1.2),
        ("affine", "shift", -0.2, 0.2),
        ("affine", "angle", -30, 30),
        ("grayscale", "alpha", 0, 0.5),
        ("haze", "floor", 0.7, 0.9),
        ("haze", "density", 0.4, 0.9),
        ("haze", "light", 220, 255),
        ("grain", "scale", 0, 6.375),
        ("rain", "density", 0.03, 0.14),
        ("rain", "degrees", 75, 105),
        ("rain", "speed", 0.1, 0.5),
        ("emboss", "alpha", 0, 0.5),
        ("saturation", "offset", -50, 50),
    ],
)
def test_magnitudes_fill_their_range_uniformly(name, field, low, high):
    values = OPERATIONS[name].draw(philox(3), 4000)[field]
    assert low <= values.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.05 * (high - low))


@pytest.mark.parametrize(("name", "share"), [("brightness", 0.2), ("contrast", 0.5), ("mild_contrast", 0.5)])
def test_factors_differ_by_channel_with_the_stated_probability(name, share):
    factors = OPERATIONS[name].draw(philox(), 4000)["factor"]
    assert (factors != factors[:, :1]).any(axis=1).mean() == pytest.approx(share, abs=0.03)


def test_shares_and_spreads_are_the_published_ones():
    drawn = {name: GROUP_A[name].draw(philox(4), 8000) for name in GROUP_A}
    assert drawn["invert"]["applied"].mean() == pytest.approx(0.05, abs=0.01)
    assert drawn["grain"]["coloured"].mean() == pytest.approx(0.5, abs=0.02)
    assert set(np.unique(drawn["piecewise_affine"]["points"])) == {2, 3, 4}
    assert drawn["piecewise_affine"]["jitter"].std() == pytest.approx(np.sqrt(0.0031 / 3), rel=0.02)
    cutoffs = TRANSFORMS["autocontrast"].draw(philox(), 40)["cutoff"]
    assert len(set(cutoffs)) > 10
    assert cutoffs.min() >= 0
    assert cutoffs.max() <= 20
    assert 5 < TRANSFORMS["solarize"].draw(philox(), 40)["applied"].sum() < 35


DRAWN = {
    "factor": np.array([0.5, 3], np.float32),
    "steps": np.array([10, 5]),
    "applied": np.array([True, False]),
}
BLEND = Operation(
    "blend", lambda images, drawn, noise: images, lambda rng, n: DRAWN, {}, {"factor": 1, "steps": 0}
)


def test_a_strength_moves_magnitudes_towards_neutral_and_keeps_their_types():
    weaker = BLEND.magnitudes(philox(), 2, {"strength": 0.5})
    np.testing.assert_array_equal(weaker["factor"], [0.75, 2])
    np.testing.assert_array_equal(weaker["steps"], [5, 2])
    np.testing.assert_array_equal(weaker["applied"], [True, False])
    assert all(weaker[name].dtype == DRAWN[name].dtype for name in DRAWN)
    np.testing.assert_array_equal(BLEND.magnitudes(philox(), 2, {"strength": 0})["factor"], [1, 1])
    assert BLEND.magnitudes(philox(), 2, {}) is DRAWN


def test_params_are_drawn_with_a_strength_where_there_is_one_to_have():
    plain = Operation("plain", BLEND.apply, parameters={"severity": Parameter(int, 1, 5)})
    assert BLEND.draw_params(philox()) == {}
    assert BLEND.draw_params(philox(), 0.25) == {"strength": 0.25}
    assert plain.draw_params(philox(), 0.1) == {"severity": 1}
    assert set(BLEND.optional) == {"strength"}
    assert plain.optional == {}


def test_a_kernel_is_compiled_where_no_folder_can_be_written(monkeypatch):
    def refusing(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function 'half': no locator available")
        return njit(**options)

    monkeypatch.setattr("starter.data.operations.kernels.njit", refusing)
    assert kernel(lambda x: x / 2)(3.0) == 1.5


@pytest.mark.parametrize("n", [1, TILE, 2 * TILE + 7])
def test_tiles_come_to_the_same_as_the_whole(n):
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (n, 3, 2, 2), dtype=np.uint8))
    factors, sizes = torch.rand(n, 1, 1, 1) * 2, []

    def step(images, factors):
        sizes.append(len(images))
        return images * factors

    assert torch.equal(by_tiles(step, images, factors), to_uint8(images * factors))
    assert max(sizes) <= TILE
    assert sum(sizes) == n
