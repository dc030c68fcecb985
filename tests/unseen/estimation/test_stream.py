"""The alarm of a stream of windows, its file, and how sets are cut into windows."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import unseen
from starter.data.images.reading import Fit
from submission.errors import UnusableInput
from unseen.estimation.images import read_unlabelled
from unseen.estimation.stream import Stream, Window

LIMIT = 0.8
NO_STREAM = r"state.json: no stream that state has written \(.*\)"
RNG = np.random.default_rng(0)
LABELS = RNG.integers(5, size=2000)
LOGITS = 2 * (RNG.normal(size=(2000, 5)) + 2.2 * np.eye(5)[LABELS])


@pytest.fixture(scope="module")
def found():
    """Accuracy is about .82; the last 600 images are harder."""
    new = np.vstack([LOGITS[1000:1400], LOGITS[1400:] / 3 + RNG.normal(size=(600, 5))])
    return unseen.estimate(LOGITS[:1000], LABELS[:1000], {"new": new}, window=100)


def alarms(truths, streams, bias=0.0, labels=0, fail_on="likely", known=1000):
    """The windows in which streams of windows of 500 images raise an alarm; 0 is none."""
    rng = np.random.default_rng(1)
    windows = []
    for _ in range(streams):
        stream = Stream(LIMIT, fail_on, 0.9, ())
        of_known = rng.binomial(known, truths[0]) / known - truths[0]
        for i, truth in enumerate(truths, 1):
            accuracy = min(rng.binomial(500, truth) / 500 + of_known + bias, 1)
            by_labels = rng.binomial(labels, truth) / labels if labels else 0.0
            each = Window(str(i), 500, accuracy, accuracy + 0.08, labels, by_labels)
            stream = stream.after(each, (0.16 / known) ** 0.5)
        windows.append(int(stream.raised or 0))
    return np.array(windows)


def test_streams_that_stay_above_their_limit_raise_few_alarms():
    for given in ({"bias": -0.01}, {"known": 300}, *({"bias": bias, "labels": 25} for bias in (-0.05, -0.1))):
        assert (alarms([LIMIT + 0.02] * 100, 120, **given) > 0).mean() <= 0.05, given
    assert (alarms([LIMIT] * 100, 120, bias=-0.05, fail_on="certain") > 0).mean() <= 0.05


@pytest.mark.parametrize(("labels", "bias"), [(0, 0), (0, 0.01), (25, 0), (25, -0.05), (25, 0.05)])
def test_a_fall_of_ten_points_is_found_within_2000_images(labels, bias):
    after = alarms([LIMIT + 0.02] * 60 + [LIMIT - 0.08] * 4, 100, bias, labels) - 60
    assert ((after > 0) & (after <= 4)).mean() >= 0.9


def test_what_estimates_may_err_by_delays_an_alarm_or_prevents_it():
    truths = [LIMIT - 0.07] * 30
    first = {way: alarms(truths, 40, fail_on=way) for way in ("possible", "likely", "certain")}
    assert first["possible"].mean() < first["likely"].mean()
    assert first["likely"].all()
    assert (first["certain"] > 0).mean() <= 0.1


def test_labels_show_a_fall_that_the_estimates_miss():
    truths = [LIMIT - 0.1] * 20
    assert not alarms(truths, 20, bias=0.15).any()
    assert alarms(truths, 20, bias=0.15, labels=100).all()


def test_logits_of_windows_are_read_as_they_are_and_percent_are_refused(found):
    """A weaker signal looks like another temperature, which halves the fall of a set by itself."""
    scaled = unseen.estimate(LOGITS[:1000], LABELS[:1000], {"half": LOGITS[1000:] / 2}).sets[0]
    assert (scaled.scale < 1, scaled.window.accuracy < scaled.accuracy - 0.1) == (True, True)
    with pytest.raises(UnusableInput, match=r"the limit is a fraction, such as 0.8, got 80"):
        found.watch(80)


def test_two_jobs_count_as_one_and_one_that_runs_again_once(found, tmp_path, capsys):
    """The stream says since when; single windows below the limit are no alarm."""
    path = tmp_path / "state.json"
    limit = found.sets[0].accuracy + 0.001
    first, second = (replace(found, sets=found.sets[part]) for part in (slice(4), slice(4, None)))
    assert first.below(limit)
    assert (first.watch(limit).alarm(limit), first.watch(limit).stream.raised) == ("", "")
    first.watch(0.8).stream.write(path)
    both = second.watch(0.8, state=path)
    assert both.stream == found.watch(0.8).stream
    assert (both.stream.since, both.stream.windows) == ("new 400-499", 10)
    assert both.alarm(0.8) == f"below 80 % (likely) since new 400-499, shown by {both.stream.raised}"
    assert all(both.alarm(0.8) in text for text in (str(both), both.html()))
    assert json.loads(both.to_json(0.8))["stream"]["since"] == "new 400-499"
    both.stream.write(path)
    assert (second.watch(0.8, state=path).stream, "not counted again" in capsys.readouterr().err) == (
        both.stream,
        True,
    )
    again = replace(found, sets=found.sets[:1]).watch(0.8, state=path)
    assert (again.alarm(0.8), again.stream.windows) == (both.alarm(0.8), 11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 0.7}, "is for the limit 0.7, fail_on likely and level 0.9: name another file"),
        ({"fail_on": "certain"}, "fail_on certain"),
        ({"model": [1000, 0.8]}, "of another model"),
        ({"version": 2}, "no stream that state has written .version"),
        ({"wealth": None}, "no stream"),
        *((text, NO_STREAM) for text in ("", "[]", "{", '{"accuracy": 1}', "\xff")),
    ],
)
def test_the_file_of_another_stream_or_of_none_is_refused_in_a_line(found, tmp_path, change, message):
    path = tmp_path / "state.json"
    found.watch(0.8).stream.write(path)
    text = change if isinstance(change, str) else json.dumps(json.loads(path.read_text()) | change)
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UnusableInput, match=message) as refused:
        found.watch(0.8, state=path)
    assert "\n" not in str(refused.value)
    assert path.read_text(encoding="latin-1") == text


def by(keys, window=None, sets=None):
    new = {"new": LOGITS[1000:1100]} if sets is None else sets
    return unseen.estimate(LOGITS[:500], LABELS[:500], new, by=keys, window=window)


def test_windows_follow_dates_in_the_order_of_time(tmp_path):
    """Days of times in any order; a week's day with few images joins the next, the last the one before."""
    days = (10, 9, 11, 9, 10, 9, 9, 10, 10, 12)
    times = [f"2026-11-{day:02} 1{i}:00" for i in range(10) for day in days]
    (tmp_path / "times.csv").write_text("\n".join(["date", *times]))
    found = by(tmp_path / "times.csv")
    assert list(found.table.images) == [40, 40, 20]
    assert list(found.table.index) == ["new 2026-11-09", "new 2026-11-10", "new 2026-11-11"]
    ninth = [row for row, time in enumerate(times) if time.startswith("2026-11-09")]
    assert (found.seen[0].logits == LOGITS[1000:1100][ninth].astype(np.float32)).all()
    assert list(by([times], window=60).table.images) == [100]
    dates = ("day\n" + "\n".join(times)).replace("\n", "\nx.png,").replace("day", "file,day", 1)
    (tmp_path / "two.csv").write_text(dates)
    assert list(by({"new": tmp_path / "two.csv"}).table.index) == list(found.table.index)


def test_plain_keys_are_in_the_order_of_their_numbers():
    found = by([np.repeat([10, 9], 50), ["b10"] * 50 + ["b9"] * 50], sets=[LOGITS[1000:1100]] * 2)
    assert list(found.table.index) == ["set 1 9", "set 1 10", "set 2 b9", "set 2 b10"]


def test_keys_that_cannot_be_are_refused():
    for keys, message in (
        ([["2026-11-09"] * 99], "has 99 dates or keys: give one column, with one for each of the 100 images"),
        ([["2026-11-09"] * 99 + [""]], "row 99 has '': write it as"),
        ([["09.11.2026"] * 100], "row 0 has '09.11.2026': write it as 2026-11-03, or another key"),
        *((keys, "by must be given for each of new") for keys in ({"old": ["a"] * 100}, [["a"] * 100] * 2)),
    ):
        with pytest.raises(UnusableInput, match=message):
            by(keys)


def test_images_of_a_folder_are_in_the_order_of_their_numbers(tmp_path):
    for name in ("frame10", "frame9", "frame100", "b/1"):
        (tmp_path / f"{name}.png").parent.mkdir(exist_ok=True)
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / f"{name}.png")
    files = [file for file, _ in read_unlabelled(tmp_path, Fit())]
    assert files == ["b/1.png", "frame9.png", "frame10.png", "frame100.png"]
