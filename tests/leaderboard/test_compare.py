"""`compare`: means, intervals and decisions against SciPy, on tables of items x systems."""

import json
import time

import numpy as np
import pytest
from command_line import run
from scipy import stats

from leaderboard.compare import compare, interval, resolvable, runs, standard_error
from submission.errors import UnusableInput
from submission.scoretable import Families


def written(path, values, header="item,a,b,c", families=None):
    """A CSV of values (n, s), with a column `source` if there are families."""
    names = [f"q{i}," + (f"{families[i]}," if families else "") for i in range(len(values))]
    rows = [name + ",".join(map(str, row)) for name, row in zip(names, values, strict=True)]
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    return path


def test_the_table_has_means_intervals_and_groups(tmp_path):
    values = np.random.default_rng(0).normal([50, 50.5, 60], 5, (40, 3))
    lines = compare(written(tmp_path / "scores.csv", values)).splitlines()
    assert lines[0].split() == ["system", "mean", "95", "%", "interval", "rank", "group"]
    assert [line.split()[0] for line in lines[1:4]] == [
        "c",
        *sorted("ab", key=lambda s: -values[:, "ab".index(s)].mean()),
    ]
    assert [line.split()[-1] for line in lines[1:4]] == ["1", "2", "2"]
    low, high = stats.t.interval(0.95, 39, values[:, 2].mean(), stats.sem(values[:, 2]))
    assert lines[1].split()[1:5] == [f"{values[:, 2].mean():.1f}", f"{low:.1f}", "to", f"{high:.1f}"]
    assert "2 of 3 pairs" in lines[6]
    assert compare(tmp_path / "scores.csv", lower=True).splitlines()[3].startswith("c")


def test_families_count_as_one_and_too_few_of_them_decide_nothing(tmp_path):
    once = np.random.default_rng(1).normal([50, 60], 5, (6, 2))
    twice = written(
        tmp_path / "twice.csv", np.repeat(once, 2, axis=0), "item,source,a,b", [i // 2 for i in range(12)]
    )
    single = written(tmp_path / "once.csv", once, "item,a,b")
    rows = [text.splitlines()[:3] for text in (compare(twice, families="source"), compare(single))]
    assert rows[0] == rows[1]
    many = written(tmp_path / "many.csv", np.random.default_rng(2).normal(0, 1, (6, 3)))
    assert "and none if all 3 pairs are: too few items" in compare(many)


def test_a_resolvable_difference_is_found_four_times_in_five():
    rng, items = np.random.default_rng(3), Families.of([str(i) for i in range(30)], ["all"] * 30)
    noise = rng.normal(size=(2000, 30))
    alone, _ = resolvable(standard_error(noise, items), 30, 2000)
    assert standard_error(noise, items) == pytest.approx(stats.sem(noise, axis=1))
    assert (stats.ttest_1samp(noise + alone, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("pairs", [1, 3, 45])
def test_the_first_of_holms_tests_has_a_share_of_the_level(pairs):
    """Of m tests, the smallest p-value has to be below 0.05 / m."""
    errors = np.random.default_rng(4).uniform(1, 2, pairs)
    expected = [stats.t.ppf(1 - 0.05 / 2 / tests, 29) + stats.norm.ppf(0.8) for tests in (1, pairs)]
    assert resolvable(errors, 30, pairs) == pytest.approx(
        [np.median(errors) * each for each in expected], rel=1e-6
    )


def test_verdicts_and_percentages_are_scores(tmp_path):
    """True and PASS are 1, False and FAIL 0, and 85% is .85."""
    rng = np.random.default_rng(0)
    right = rng.random((40, 2)) < [0.4, 0.8]
    words = [["True" if first else "False", "PASS" if second else "FAIL"] for first, second in right]
    for name, rows in (
        ("words", words),
        ("numbers", right.astype(int).tolist()),
        ("percent", [[f"{100 * value}%" for value in row] for row in right.astype(int)]),
    ):
        lines = ["a,b", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    found = {name: compare(tmp_path / f"{name}.csv") for name in ("words", "numbers", "percent")}
    assert len({*found.values()}) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("item,a\n", "no scores"),
        (
            "item,a,b\n" + "".join(f"q{i},1,\n" for i in range(6)),
            "'b' has scores on 0 items .*: give 6 or more",
        ),
        ("item,a\n" + "".join(f"q{i},\n" for i in range(6)), "'a' has scores on 0 items"),
        ("model,mmlu,arc\nx,5,4\ny,6,4\n", "its rows are systems, by the column 'model': exchange rows"),
        (",mmlu,arc,Average\nx,5,4,4.5\ny,6,4,5\n", "its rows look like systems, .* column 'Average'"),
        ("model,score\nx,1\ny,0\n", "no column of items"),
        ("item,a\nq1,1\nq2,1e308\n", "line 3, column 'a': '1e308' is too large"),
        ("a,source\n1,x\n2,y\n", "'x' is not a number; is it a column for families"),
        ("a,b\n1,2\n2,3\n", "on 2 items .* give 6 or more"),
        ("a,b\nq1,1,2\nq2,2,3\n", "line 2: more fields than the header"),
        ("item;a;b\nq1;1,5;2,5\n", "line 2: more fields than the header"),
        ("item;a;b\nq1;1;2\n", "separated by commas"),
        ("item,a,b,a\nq1,1,2,3\n", "the column 'a' is there twice"),
    ],
)
def test_what_is_no_table_of_scores_is_refused(tmp_path, text, word):
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(UnusableInput, match=word):
        compare(tmp_path / "scores.csv")
    assert run("compare", str(tmp_path / "scores.csv"), check=False).code == 2


def as_json(path, **options):
    """What `compare` finds in a table, by system, and what it says."""
    found = json.loads(compare(path, as_json=True, **options))
    return {system.pop("name"): system for system in found["systems"]}, " ".join(found["notes"])


def drawn(seed=0, count=40):
    """Scores of 0 and 1 (n, 3)."""
    return (np.random.default_rng(seed).random((count, 3)) < [0.4, 0.6, 0.9]).astype(int)


def test_all_forms_of_a_table_say_the_same(tmp_path):
    """Wide and long CSV and JSON lines, whatever the keys are called and the order of the rows."""
    values = drawn()
    expected, _ = as_json(written(tmp_path / "wide.csv", values))
    for key in ("doc_id", "Question_ID", "number"):
        rows = [f"{row[0]},{7 * i},{row[1]},{row[2]}" for i, row in enumerate(values)]
        (tmp_path / "key.csv").write_text("\n".join([f"a,{key},b,c", *rows[::-1]]))
        found, said = as_json(tmp_path / "key.csv")
        assert found == expected
        assert f"The column {key!r} names the items" in said
    records = [
        {"doc_id": i % 20, "task": i // 20, "doc": {"q": "\u2028"}, "model": name, "acc": float(values[i, j])}
        for i in range(40)
        for j, name in enumerate("abc")
    ]
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    (tmp_path / "long.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert as_json(tmp_path / "long.jsonl")[0] == expected
    rows = [f"{r['task']},{r['doc_id']},{r['model']},{r['acc']}" for r in records]
    (tmp_path / "long.csv").write_text("\n".join(["subject,id,Model,score", *rows, "0,mean,a,0.5"]))
    found, said = as_json(tmp_path / "long.csv")
    assert found == expected
    assert "Line 122 ('mean') is left out" in said
    for name in ("tabs.csv", "tabs.tsv"):
        (tmp_path / name).write_text((tmp_path / "wide.csv").read_text().replace(",", "\t"))
        assert as_json(tmp_path / name)[0] == expected
    repeated = tmp_path / "again.csv"
    repeated.write_text("\n".join(["subject,id,Model,score", *rows, *rows]))
    found, said = as_json(repeated)
    assert found == expected
    assert "averaged" in said
    answer = run("compare", str(tmp_path / "long.jsonl"), "--json")
    assert json.loads(answer.text)["systems"][0]["name"] == next(iter(expected))
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n[')
    with pytest.raises(UnusableInput, match="line 2 is no JSON object"):
        compare(tmp_path / "broken.jsonl")


def test_repeated_items_are_families_and_averages_no_items(tmp_path):
    values = drawn(1)
    expected, _ = as_json(written(tmp_path / "once.csv", values))
    rows = [f"{i},{a},{b},{c}" for i, (a, b, c) in enumerate(values.tolist()) for _ in range(4)]
    (tmp_path / "four.csv").write_text("\n".join(["id,a,b,c", *rows, "Average,0.5,0.5,0.5"]))
    found, said = as_json(tmp_path / "four.csv")
    for name, system in expected.items():
        assert found[name].pop("rank_groups") == system.pop("rank_groups")
        assert found[name] == pytest.approx({**system, "items": 160})
    assert "160 items of 40 families" in said
    assert "('Average') is left out" in said


def test_different_points_are_no_key_where_other_systems_have_such_too(tmp_path):
    points = np.random.default_rng(2).permutation(900)[:60].reshape(30, 2)
    (tmp_path / "points.csv").write_text("\n".join(["a,b", *(f"{a},{b}" for a, b in points), "1,1"]))
    assert set(as_json(tmp_path / "points.csv")[0]) == {"a", "b"}


def test_the_order_of_rows_changes_nothing(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal([0.5, 0.51, 0.52], 0.05, (60, 3))
    lines = [",".join(map(repr, row)) for row in values.tolist()]
    texts = set()
    for _ in range(3):
        (tmp_path / "x.csv").write_text("\n".join(["a,b,c", *rng.permutation(lines)]))
        texts.add(compare(tmp_path / "x.csv", as_json=True))
    assert len(texts) == 1


def test_with_gaps_means_are_over_what_is_there(tmp_path):
    values = np.random.default_rng(4).normal([50, 55], 5, (40, 2))
    cells = values.astype(object)
    cells[:9, 0], cells[-3:, 1] = "", "n/a"
    found, said = as_json(written(tmp_path / "gaps.csv", cells, "item,a,b"))
    low, high = stats.t.interval(0.95, 30, values[9:, 0].mean(), stats.sem(values[9:, 0]))
    assert [found["a"][name] for name in ("items", "mean")] == [31, pytest.approx(values[9:, 0].mean())]
    assert [found["a"]["low"], found["a"]["high"]] == pytest.approx([low, high], rel=1e-5)
    assert "Missing scores: 12." in said


@pytest.mark.parametrize(("families", "size"), [(20, 1), (50, 1), (40, 5)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_intervals_of_fractions_hold_near_their_ends(families, size, share):
    """Also where the items of a family are alike: Student's t would hold in .2 to .9 of these near 1."""
    rng = np.random.default_rng(5)
    values = np.repeat((rng.random((2000, families)) < share).astype(float), size, axis=1)
    low, high = interval(values, Families(np.repeat(np.arange(families), size)))
    assert low.min() >= 0
    assert high.max() <= 1
    assert ((low <= share) & (share <= high)).mean() > 0.885


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6])
def test_intervals_hold_where_one_family_is_large(share):
    """Those of 40 families alike would hold in .93, .83 and .45 of these."""
    rng, sizes = np.random.default_rng(7), np.full(40, 4)
    sizes[0] = round(4 * 39 * share / (1 - share))
    families = Families(np.repeat(np.arange(40), sizes))
    values = rng.normal(size=(1000, 40))[:, families.codes] + rng.normal(size=(1000, sizes.sum()))
    low, high = interval(values, families)
    assert ((low <= 0) & (high >= 0)).mean() > 0.92


def test_perfect_systems_have_an_interval_and_identical_ones_are_called_so(tmp_path):
    found, said = as_json(written(tmp_path / "x.csv", np.ones((20, 3), dtype=int)))
    assert [found["a"]["mean"], found["a"]["high"]] == [1, 1]
    assert 0.8 < found["a"]["low"] < 0.85
    assert "a, b, c are identical." in said
    assert "would be found" not in said


def test_percent_of_right_and_wrong_has_the_intervals_of_fractions(tmp_path):
    right = (np.random.default_rng(8).random((20, 3)) < [0.5, 0.95, 1]).astype(float)
    right[:, 2] = 1
    families = Families(np.arange(20))
    assert np.array(interval(100 * right.T, families)) == pytest.approx(
        100 * np.array(interval(right.T, families))
    )
    found, _ = as_json(written(tmp_path / "x.csv", 100 * right.astype(int)))
    assert 80 < found["c"]["low"] < 85
    assert found["c"]["high"] == pytest.approx(100)


def test_families_in_size_as_few_find_no_small_difference(tmp_path):
    """One family has 150 of 200 items: with Student's t of 50 degrees .11 was said, found in .18 of draws."""
    rng, codes = np.random.default_rng(9), np.r_[np.zeros(150, dtype=int), np.arange(1, 51)]
    chance = 0.5 + 0.1 * rng.normal(size=(51, 1))[codes] + [0.1, 0]
    values = (rng.random((200, 2)) < chance).astype(int)
    table = written(tmp_path / "x.csv", values, "item,source,a,b", codes.tolist())
    said = compare(table, families="source")
    assert "200 items of 51 families, in size as 2 equal ones" in said
    assert float(said.split("a true difference of ")[1].split()[0]) > 0.3


def test_a_column_on_another_scale_is_remarked_on(tmp_path):
    scores = np.random.default_rng(0).integers(2, size=(40, 3))
    scores[:, 2] = np.arange(40) % 10
    _, said = as_json(written(tmp_path / "x.csv", scores))
    assert "Scores of c reach 9.00, others' 1.00: is it a system" in said


def test_many_systems_are_compared_in_seconds(tmp_path):
    rng, count = np.random.default_rng(6), 120
    scores = rng.normal(size=(300, 1)) + np.linspace(-1, 1, count) + rng.normal(size=(300, count))
    lines = ["item," + ",".join(f"m{i}" for i in range(count))]
    lines += [f"q{i}," + ",".join(map(str, row)) for i, row in enumerate((scores > 0).astype(int))]
    (tmp_path / "many.csv").write_text("\n".join(lines))
    start = time.process_time()
    found, said = as_json(tmp_path / "many.csv")
    assert time.process_time() - start < 20
    assert len(found) == count
    decided = int(said.split(" pairs")[0].split()[-3])
    assert decided > 2000  # draws alone could decide none of 7140 pairs


def test_groups_in_a_row_are_shown_by_their_ends():
    assert [runs(each) for each in ((), (3,), (1, 2), (1, 2, 4, 5, 6))] == ["", "3", "1 2", "1 2 4-6"]
