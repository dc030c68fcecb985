"""The files of an estimate: names that do no harm, pictures, and a page to which axe-core does not object."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from browser import DARK, needs_chromium, run_in_page, violations
from browser import axe as axe
from PIL import Image

import unseen
from starter.data.images.reading import Fit
from unseen.estimation.estimation import write_estimation
from unseen.estimation.images import read_unlabelled


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files of four sets, the second of which is far worse; of the first the images are shown."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=1200)
    logits = 2 * (rng.normal(size=(1200, 3)) + 2 * np.eye(3)[labels])
    parts = np.split(logits[600:], 4)
    sets = dict(zip(("mon", "tue", "wed", "<thu>"), parts, strict=True)) | {"tue": parts[1] / 9}
    found = unseen.estimate(logits[:600], labels[:600], sets, features=(logits[:600], sets))
    images = rng.integers(256, size=(150, 300, 200, 3)).astype(np.uint8)
    photos = {"mon": [(f"a<b>{i}.png", image) for i, image in enumerate(images)]}
    page, table, data = write_estimation(found, tmp_path_factory.mktemp("estimate"), photos, 0.5)
    return found, page.read_text(), table.read_text(), json.loads(data.read_text())


@pytest.fixture
def page(written):
    return written[1]


def test_files_hold_everything_and_escape_names(written):
    found, page, table, data = written
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert ("&lt;thu&gt;" in page, "<thu>" in page) == (True, False)
    assert len(page) < 800_000
    assert page.count("a&lt;b&gt;") == 12
    assert "90&nbsp;%" in page
    assert table.startswith("set,images,accuracy,low,high,difference,fallen,distance,outside,atc-ne-ts,")
    assert [data[name] for name in ("fail_below", "fail_on", "below")] == [0.5, "likely", found.below(0.5)]
    mon = data["sets"][0]
    first = found.ask(12).query("set == 'mon'").row
    assert all(f"a&lt;b&gt;{row}.png" in page for row in first)
    assert [page.count(f'"verdict {kind}"') for kind in ("good", "bad", "open")] == [
        sum(each.fallen == kind for each in found.sets) for kind in ("no", "yes", "cannot tell")
    ]
    assert (found.html({}), found.to_json(0.5)) != (page, "")
    assert (mon["accuracy"], mon["low"]) == (found.table.accuracy["mon"], found.table.low["mon"])
    assert "&lt;thu&gt;" in found._repr_html_()


def test_names_of_strange_files_do_no_harm(tmp_path, monkeypatch):
    """A formula, an escape of terminals, and bytes that are no UTF-8."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    names = ("=1+1.npy", "\x1b[31mred.npy", os.fsdecode(b"\xe9t\xe9.npy"))
    for name in names:
        np.save(name, logits)
    found = unseen.estimate(logits, labels, [Path(name) for name in names])
    page, table, _ = write_estimation(found, tmp_path)
    lines = table.read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["'=1+1", r"\x1b[31mred", r"\udce9t\udce9"]
    assert r"\udce9t\udce9" in page.read_text()
    assert "\x1b" not in str(found)
    (tmp_path / "photos").mkdir()
    image = Image.fromarray(np.zeros((4, 4, 3), np.uint8))
    image.save(os.fsencode(tmp_path) + b"/photos/\xe9.png", format="PNG")
    assert [file for file, _ in read_unlabelled(tmp_path / "photos", Fit())] == [r"\udce9.png"]


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_axe_finds_nothing_grave(page, axe, tmp_path, flags):
    assert violations(page, axe, tmp_path, *flags) == []


@needs_chromium
@pytest.mark.slow
def test_a_heading_sorts_the_sets(page, tmp_path):
    script = """
      const table = document.querySelectorAll("table")[0];
      table.querySelectorAll("thead button")[2].click();
      const wide = document.documentElement.scrollWidth <= window.innerWidth;
      return {first: table.tBodies[0].rows[0].cells[0].textContent, wide,
              scopes: [...document.querySelectorAll("th")].every((each) => each.scope)};
    """
    assert run_in_page(page, script, tmp_path) == {"first": "tue", "wide": True, "scopes": True}
