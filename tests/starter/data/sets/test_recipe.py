"""Recipes: their JSON and files, their checks, what they select, and that a set's bytes depend on nothing else."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS
from starter.data.sets.recipe import CHUNK, Recipe, draw_recipes, packed, read_recipes, unpacked
from submission.errors import UnusableInput


def make_base(n=1300, size=8, classes=10):
    rng = np.random.default_rng(n)
    images = rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8)
    return ImageSet("base", images, rng.integers(0, classes, n))


def test_sample_draws_without_replacement_in_random_order_with_its_labels_where_there_are_any():
    base, recipe = make_base(), Recipe("some", 3, (("sample", {"n": 700}),))
    indices, rendered = recipe.indices(base), recipe.render(base)
    assert len(set(indices)) == 700 == recipe.size(base) == len(rendered.images)
    assert indices.dtype == np.int64
    assert np.any(np.diff(indices) < 0)
    np.testing.assert_array_equal(rendered.images, base.images[indices])
    assert base.labels is not None
    np.testing.assert_array_equal(rendered.labels, base.labels[indices])
    assert set(Recipe("all", 3, (("sample", {"n": 1300}),)).indices(base)) == set(range(1300))
    clean = Recipe("clean", 0, (("identity", {}),)).render(base)
    np.testing.assert_array_equal(clean.images, base.images)
    np.testing.assert_array_equal(clean.labels, base.labels)
    base = ImageSet("base", make_base().images)
    assert Recipe("some", 3, (("sample", {"n": 9}),)).render(base).labels is None
    with pytest.raises(UnusableInput, match=r"'some'.*'base' has no labels"):
        Recipe("some", 3, (("resample_classes", {"n": 9, "concentration": 1}),)).indices(base)


@pytest.mark.slow
def test_resampled_classes_follow_a_dirichlet_distribution():
    """Shares of a symmetric Dirichlet with k classes have mean 1/k and variance (k-1) / (k^2 (k a + 1))."""
    labels = np.repeat([0, 1, 2], [6000, 3000, 1000])  # unequal classes must not matter
    base = ImageSet("base", np.zeros((10000, 1, 1, 3), np.uint8), labels)
    for a in (0.5, 4.0):
        shares = []
        for seed in range(400):
            chosen = Recipe("r", seed, (("resample_classes", {"n": 100, "concentration": a}),)).indices(base)
            assert len(set(chosen)) == 100
            shares.append(np.bincount(labels[chosen], minlength=3) / 100)
        np.testing.assert_allclose(np.mean(shares, axis=0), 1 / 3, atol=0.05)
        variance = 2 / (9 * (3 * a + 1))
        expected = variance + (1 / 3 - 1 / 9 - variance) / 100  # of the priors, and of 100 draws by them
        np.testing.assert_allclose(np.var(shares, axis=0), expected, rtol=0.25)


def test_among_draws_of_the_images_named_and_names_what_is_wrong():
    base, named = make_base(), np.array([3, 5, 8, 900, 1299])
    assert unpacked(packed(named)).tolist() == named.tolist()
    params = {"n": 4, "rows": packed(named)}
    recipe = Recipe("some", 3, (("among", params), ("contrast", {})))
    chosen = recipe.indices(base)
    assert len(set(chosen)) == 4
    assert set(chosen) < set(named)
    assert recipe.families == {"contrast"}
    assert Recipe("some", 3, (("among", params),)).families == {"sub_population"}
    assert Recipe.from_json(recipe.to_json()) == recipe
    rows = packed(np.arange(10, 20))
    with pytest.raises(UnusableInput, match=r"'some' draws 11 .* has only 10 for it"):
        Recipe("some", 0, (("among", {"n": 11, "rows": rows}),)).indices(make_base())
    with pytest.raises(UnusableInput, match="'base' has only 0 for it"):
        Recipe("some", 0, (("among", {"n": 5, "rows": rows}),)).indices(make_base(15))
    for bad in ("", "AAAA", "a b", 7, "\u00e9"):
        with pytest.raises(UnusableInput, match="'rows' must be base64 of a bit for each image"):
            Recipe("some", 0, (("among", {"n": 1, "rows": bad}),))


def test_natural_like_sets_have_few_classes_sub_populations_and_operations():
    clusters = np.arange(1300) // 50
    recipes = draw_recipes("natural-like", 80, 0, 100, clusters=clusters)
    kinds = [recipe.selection for recipe in recipes]
    assert {kinds.count(kind) > 10 for kind in ("sample", "resample_classes", "among")} == {True}
    drawn = [recipe.ops[0][1].get("concentration", 1) for recipe in recipes]
    assert min(drawn) < 0.1
    assert {name for recipe in recipes for name, _ in recipe.pixel_ops} == set(GROUPS["natural-like"])
    crossed = [recipe for recipe in recipes if recipe.selection != "sample" and recipe.pixel_ops]
    assert len(crossed) > 10
    assert {len(recipe.indices(make_base())) for recipe in recipes} == {100}
    plain = draw_recipes("natural-like", 80, 0, 100)
    assert "among" not in {each.selection for each in plain}
    assert [each.pixel_ops for each in plain] == [each.pixel_ops for each in recipes]
    joined = draw_recipes("default+natural-like", 40, 0, 100)  # its groups take turns
    assert {len(each.pixel_ops) for each in joined[::2]} == {3}
    assert {name for each in joined[1::2] for name, _ in each.pixel_ops} == set(GROUPS["natural-like"])
    assert joined[0] == draw_recipes("default", 1, 0, 100)[0]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_chunk_is_the_same_whatever_the_threads_and_the_other_chunks(name):
    params = {key: each.kind(each.low) for key, each in OPERATIONS[name].parameters.items()}
    base, recipe = make_base(), Recipe("set", 5, ((name, params), ("contrast", {})))
    other = ImageSet("other", np.concatenate([255 - base.images[:CHUNK], base.images[CHUNK:]]))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        whole = recipe.render(base)
        torch.set_num_threads(3)
        chunks, others = list(recipe.chunks(base)), list(recipe.chunks(other))
    finally:
        torch.set_num_threads(threads)
    assert [len(chunk) for chunk in chunks] == [CHUNK, CHUNK, 300]
    np.testing.assert_array_equal(torch.cat(chunks).permute(0, 2, 3, 1).numpy(), whole.images)
    assert torch.equal(torch.cat(others[1:]), torch.cat(chunks[1:]))


def test_seed_operations_and_their_order_matter_and_the_name_does_not():
    base = make_base(60)
    ops = (("brightness", {}), ("affine", {}), ("solarize", {}))
    first = Recipe("a", 1, ops)
    np.testing.assert_array_equal(first.render(base).images, Recipe("b", 1, ops).render(base).images)
    assert first.digest == Recipe("b", 1, ops).digest
    for other in (Recipe("a", 2, ops), Recipe("a", 1, ops[::-1]), Recipe("a", 1, (*ops, ops[0]))):
        assert other.digest != first.digest
        assert np.any(other.render(base).images != first.render(base).images)


@pytest.mark.parametrize(
    ("ops", "families"),
    [
        ((), {"identity"}),
        ((("sample", {"n": 5}), ("identity", {})), {"identity"}),
        ((("resample_classes", {"n": 5, "concentration": 1}),), {"class_prior"}),
        ((("sample", {"n": 5}), ("color", {}), ("affine", {}), ("color", {})), {"color", "affine"}),
        ((("haze", {}), ("fog", {"severity": 1}), ("rain", {})), {"fog", "rain"}),
    ],
)
def test_families_are_the_pixel_operations(ops, families):
    assert Recipe("r", 0, ops).families == families


def line(ops="[]", name='"a"', seed="1"):
    return f'{{"name": {name}, "seed": {seed}, "ops": {ops}}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "one line of JSON"),
        (line(seed='1, "x": 2'), "unexpected.*'x'"),
        (line(name='"a/b"'), "'a/b': name must be letters"),
        (line(seed="-1"), "seed must be a non-negative integer"),
        (line("{}"), "ops must be a list"),
        (line('["color"]'), "operation 1: it must be a name and its params"),
        (line('[["colour", {}]]'), "unknown operation 'colour'; choose from sample, .*color"),
        (line('[["color", {"x": 1}]]'), r"'x' is not a parameter of it \(strength\)"),
        (line('[["rain", {"strength": 2}]]'), "'strength' must be a number from 0 to 1"),
        (line('[["sample", {}]]'), "'n' is missing"),
        (line('[["sample", {"n": 0}]]'), "'n' must be an integer of at least 1"),
        (line('[["color", {}], ["sample", {"n": 2}]]'), "operation 2: 'sample'.*first"),
        (line('[["resample_classes", {"n": 2, "concentration": NaN}]]'), "'concentration' must be a number"),
    ],
)
def test_a_faulty_line_is_refused_by_what_is_wrong_with_it(text, message):
    with pytest.raises(UnusableInput, match=message):
        Recipe.from_json(text)


SIZES = st.tuples(st.integers(1, 10**6), st.integers(0, 4))


@given(st.sampled_from(sorted(GROUPS)), st.integers(0, 2**64), SIZES, st.floats(0, 1))
def test_json_round_trip(group, seed, sizes, prior_share):
    n, low = sizes
    span = min(low, len(GROUPS[group])), min(7, len(GROUPS[group]))
    for recipe in draw_recipes(group, 3, seed, n, ops_per_set=span, prior_share=prior_share):
        line = recipe.to_json()
        assert "\n" not in line
        assert list(json.loads(line)) == ["name", "ops", "seed"]
        assert Recipe.from_json(line) == recipe
        assert Recipe.from_json(line).digest == recipe.digest


def test_drawn_recipes_keep_to_what_was_asked():
    recipes = draw_recipes("default", 300, 7, 500, prefix="wide", ops_per_set=(1, 3), prior_share=0.25)
    assert recipes[0].name == "wide_0001"
    assert recipes[-1].name == "wide_0300"
    assert len({recipe.digest for recipe in recipes}) == 300
    counts = np.bincount([len(recipe.ops) - 1 for recipe in recipes], minlength=5)
    assert counts[[0, 4]].sum() == 0
    assert counts[1:4].min() > 70
    assert all(len(recipe.families) == len(recipe.ops) - 1 for recipe in recipes)
    assert {name for recipe in recipes for name in recipe.families} == set(GROUPS["default"])
    assert 50 < sum(recipe.ops[0][0] == "resample_classes" for recipe in recipes) < 100
    assert len({tuple(name for name, _ in recipe.ops[1:]) for recipe in recipes}) > 100
    few = draw_recipes("default", 4, 7, 500, ops_per_set=(1, 3), prior_share=0.25, prefix="wide")
    assert few == recipes[:4]
    assert any("strength" in p for r in draw_recipes("a", 9, 7, 500, weak_share=1) for _, p in r.ops)


def test_wide_sets_have_few_operations_of_all_kinds_some_weak_and_some_with_other_classes():
    recipes = draw_recipes("wide", 600, 7, 500)
    counts = np.bincount([len(recipe.ops) - 1 for recipe in recipes])
    assert len(counts) == 4
    assert counts.min() > 110
    assert {name for recipe in recipes for name, _ in recipe.ops[1:]} == set(GROUPS["wide"])
    assert 140 < sum(recipe.ops[0][0] == "resample_classes" for recipe in recipes) < 220
    strengths = [{params["strength"] for _, params in r.ops if "strength" in params} for r in recipes]
    assert all(len(strength) <= 1 for strength in strengths)
    drawn = [value for strength in strengths for value in strength]
    assert len(drawn) > 100
    assert 0 <= min(drawn) < 0.1
    assert 0.9 < max(drawn) < 1
    severities = [params["severity"] for r in recipes for _, params in r.ops if "severity" in params]
    assert np.mean(severities) < 2.7
    assert set(severities) == {1, 2, 3, 4, 5}


def test_default_recipes_are_those_of_the_first_version():
    """Competitions out there name their sets by these lines."""
    ops = '[["sample", {"n": 500}], ["affine", {}], ["sharpen", {}], ["brightness", {}]]'
    expected = f'{{"name": "train_0001", "ops": {ops}, "seed": 2778960489868155}}'
    assert draw_recipes("default", 1, seed=0, n=500)[0].to_json() == expected


ONE = '{"name": "one", "seed": 1, "ops": [["rain", {}]]}'


def test_what_was_written_is_read(tmp_path):
    recipes, path = draw_recipes("wide", 30, 7, 500), tmp_path / "mine.jsonl"
    path.write_text("\n".join(recipe.to_json() for recipe in recipes) + "\n\n")
    assert read_recipes(path) == read_recipes(str(path)) == recipes
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_recipes(path) == recipes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ONE}\n{{", "line 2: not a recipe"),
        (f"\n\n{ONE}\n{ONE}", "line 4: the name 'one' stands in line 3 already"),
        (ONE.replace("rain", "reign"), "line 1: .*unknown operation 'reign'"),
        (" \n\t\n", "holds no recipe"),
        (None, "cannot be read"),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(tmp_path, text, message):
    path = tmp_path / "mine.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UnusableInput, match=f"mine.jsonl.*{message}") as caught:
        read_recipes(path)
    assert "\n" not in str(caught.value)
