"""What the builds of both tracks share: which test sets count for the public score."""

from types import SimpleNamespace

import pytest
from asked import accuracy_settings, changed

from starter.contest.accuracy.plan import plan_part
from starter.contest.plan import public_sets


def planned(*families):
    return [(f"test_{i:04d}", *key) for i, key in enumerate(families)]


@pytest.mark.parametrize(
    ("families", "most"),
    [
        ([("seen", f"f{i}") for i in range(10)] + [("new", f"g{i}") for i in range(10)], 6),
        ([("natural", "a"), ("new", "b")], 1),
        ([("natural", "a")] * 3, 1),
        ([("natural", "a"), ("natural", "a"), ("natural", "b")], 2),
    ],
)
def test_every_split_has_a_public_and_a_private_part(families, most):
    for seed in range(20):
        public = public_sets(planned(*families), seed)
        assert 0 < len(public) <= most
        assert len(public) < len(families)


@pytest.mark.parametrize("settings", [accuracy_settings(), accuracy_settings(source="cifar10", group="wide")])
@pytest.mark.parametrize("sets", [101, 400])
@pytest.mark.slow
def test_a_hundred_sets_have_thirty_public_and_seventy_private_in_every_group_alike(settings, sets):
    like = SimpleNamespace(test_base=range(3000))
    for seed in range(10):
        plan = plan_part(changed(settings, test_sets=sets), "test", like, seed, (), {})
        public = public_sets([(each.recipe.name, each.group, each.family) for each in plan], seed)
        assert len(public) == round(0.3 * sets) >= 30
        assert sets - len(public) >= 70
        straddling = {entry.family for entry in plan if entry.recipe.name in public} & {
            entry.family for entry in plan if entry.recipe.name not in public
        }
        assert not straddling
        for group in {entry.group for entry in plan}:
            names = [entry.recipe.name for entry in plan if entry.group == group]
            assert 0.15 < len(public.intersection(names)) / len(names) < 0.45


def test_one_large_family_is_worked_around():
    plan = planned(*[("natural", "big")] * 40, *[("natural", f"f{i % 7}") for i in range(60)])
    sizes = {len(public_sets(plan, seed)) for seed in range(20)}
    assert all(20 <= size <= 30 for size in sizes)


@pytest.mark.parametrize("seed", range(20))
def test_every_group_keeps_a_private_set(seed):
    """The share of both groups would hold all of the small one."""
    large = [("natural", f"f{i}") for i in range(3) for _ in range(10)]
    plan = planned(*large, ("new", "a"), ("new", "b"))
    public = public_sets(plan, seed)
    private = {group for name, group, _ in plan if name not in public}
    assert private == {"natural", "new"}
    assert public
