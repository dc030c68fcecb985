"""The names of all operations and groups, and what every operation promises."""

import numpy as np
import pytest
import torch
from numpy.random import Generator, Philox
from tape import photographs, planar

from starter.operations import GROUPS, OPERATIONS, unseen_operations
from starter.operations.corruptions import CORRUPTIONS
from starter.operations.default import TRANSFORMS
from starter.operations.group_a import GROUP_A
from starter.operations.group_b import GROUP_B
from starter.operations.operation import Params


def philox(key: int = 0) -> Generator:
    return Generator(Philox(key=key))


def params_of(name: str) -> Params:
    return {key: 4 for key in OPERATIONS[name].parameters}


def applied(name: str, images: torch.Tensor, params: Params) -> torch.Tensor:
    operation = OPERATIONS[name]
    return operation.apply(images, operation.magnitudes(philox(2), len(images), params), params, philox(1))


def test_names_are_unique_and_wide_has_them_all() -> None:
    parts = (TRANSFORMS, GROUP_A, GROUP_B, CORRUPTIONS)
    assert len(OPERATIONS) == sum(len(part) for part in parts) == 43
    assert all(name == operation.name for name, operation in OPERATIONS.items())
    named = [name for group in ("default", "a", "b", "corruptions") for name in GROUPS[group]]
    assert sorted(named) == sorted(GROUPS["wide"]) == sorted(set(OPERATIONS) - {"identity"})
    assert [len(GROUPS[group]) for group in ("default", "a", "b", "corruptions")] == [7, 8, 8, 19]


def test_a_variant_is_of_the_family_of_an_operation_that_is_none() -> None:
    variants = {o.name: o.variant_of for o in OPERATIONS.values() if o.variant_of}
    assert variants["haze"] == "fog"
    assert not {OPERATIONS[family].variant_of for family in variants.values()} - {""}
    assert not any(
        OPERATIONS[name].variant_of for group in ("default", "corruptions") for name in GROUPS[group]
    )


def test_unseen_operations_have_no_variant_in_the_group() -> None:
    assert unseen_operations("default") == GROUPS["corruptions"]
    assert unseen_operations("corruptions") == GROUPS["default"]
    assert set(GROUPS["corruptions"]) - set(unseen_operations("a")) == {
        "elastic_transform",
        "fog",
        "gaussian_noise",
    }
    assert set(GROUPS["corruptions"]) - set(unseen_operations("b")) == {
        "jpeg_compression",
        "gaussian_blur",
        "saturate",
    }
    assert unseen_operations("wide") == ()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("size", [(24, 40), (5, 3), (3, 2), (2, 2), (1, 5), (1, 1)])
def test_uint8_of_the_same_shape_comes_out(name: str, size: tuple[int, int]) -> None:
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (7, 3, *size), dtype=np.uint8))
    for key in (1, 5):
        result = applied(name, images, {parameter: key for parameter in OPERATIONS[name].parameters})
        assert result.dtype == torch.uint8
        assert result.shape == images.shape


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_bytes_do_not_depend_on_threads_and_the_input_stays(name: str) -> None:
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (70, 3, 32, 32), dtype=np.uint8))
    before, threads = images.clone(), torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        several = applied(name, images, params_of(name))
        torch.set_num_threads(1)
        one = applied(name, images, params_of(name))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(several, one)
    assert torch.equal(images, before)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"shot_noise"}))
def test_an_image_comes_out_the_same_whatever_its_company(name: str) -> None:
    """From the same draws. (How many numbers a Poisson variate takes depends on its mean, so that shot noise
    is the same for the same chunk only.)
    """
    images = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (40, 3, 32, 32), dtype=np.uint8))
    whole = applied(name, images, params_of(name))
    images[:20] = 255 - images[:20]
    assert torch.equal(applied(name, images, params_of(name))[20:], whole[20:])


#: Autocontrast stretches without a cutoff too, a JPEG of quality 100 is still one, and the last point of a
#: piecewise affine grid, one past the last pixel, is not read from there.
NEVER_NEUTRAL = {"autocontrast", "jpeg", "piecewise_affine"}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if OPERATIONS[name].neutral])
def test_at_no_strength_an_image_stays_and_change_grows_with_it(name: str) -> None:
    images = planar(photographs(40, 32, 32))
    change = [
        (applied(name, images, {"strength": strength}).float() - images).abs().mean().item()
        for strength in (0, 0.5, 1)
    ]
    assert change[0] <= change[1] <= change[2]
    assert change[0] < change[2]
    assert change[0] == 0 or name in NEVER_NEUTRAL


def test_all_but_four_operations_can_be_weak() -> None:
    fixed = {
        name for name, operation in OPERATIONS.items() if not (operation.neutral or operation.parameters)
    }
    assert fixed == {"identity", "solarize", "invert", "blur"}
