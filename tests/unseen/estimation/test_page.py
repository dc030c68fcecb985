"""The page of an estimate in a browser: nothing that axe-core objects to, and tables that sort."""

import os
from pathlib import Path

import numpy as np
import pytest
from browser import DARK, needs_chromium, run_in_page, violations
from browser import axe as axe
from PIL import Image

import unseen
from starter.images.reading import Fit
from unseen.estimation.images import read_unlabelled
from unseen.estimation.page import Pictures, as_json, write_estimation


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Four sets, the second of which is far worse; of the first the images are shown."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=1200)
    logits = 2 * (rng.normal(size=(1200, 3)) + 2 * np.eye(3)[labels])
    parts = np.split(logits[600:], 4)
    sets = dict(zip(("mon", "tue", "wed", "<thu>"), parts, strict=True)) | {"tue": parts[1] / 9}
    found = unseen.estimate(logits[:600], labels[:600], sets, features=(logits[:600], sets))
    pictures = {
        "mon": Pictures(rng.integers(256, size=(150, 300, 200, 3)).astype(np.uint8), ["a<b>.png"] * 150)
    }
    folder = tmp_path_factory.mktemp("estimate")
    return write_estimation(found, folder, pictures)[0].read_text()


def test_the_json_names_the_files_of_the_least_sure_images():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    found = unseen.estimate(logits, labels, {"mon": logits, "tue": logits})
    pictures = {"mon": Pictures(np.zeros((200, 2, 2, 3), np.uint8), [f"{i}.png" for i in range(200)])}
    mon, tue = as_json(found, pictures)["sets"]
    assert mon["least_sure_files"] == [f"{row}.png" for row in mon["least_sure"]]
    assert tue["least_sure_files"] is None


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


def test_pictures_of_strange_names_are_shown(tmp_path):
    image = Image.fromarray(np.zeros((4, 4, 3), np.uint8))
    image.save(os.fsencode(tmp_path) + b"/\xe9.png", format="PNG")
    assert read_unlabelled(tmp_path, Fit()).files == [r"\udce9.png"]


def test_pictures_are_small_and_names_escaped(page):
    assert len(page) < 800_000
    assert page.count("a&lt;b&gt;.png") == 12
    assert "<thu>" not in page
    assert 'aria-label="Estimates of 4 sets in their order: first mon, ' in page


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_axe_finds_nothing_grave(page, axe, tmp_path, flags):
    assert violations(page, axe, tmp_path, *flags) == []


@needs_chromium
def test_a_heading_sorts_the_sets(page, tmp_path):
    script = """
      const table = document.querySelectorAll("table")[1];
      table.querySelectorAll("thead button")[2].click();
      const wide = document.documentElement.scrollWidth <= window.innerWidth;
      return {first: table.tBodies[0].rows[0].cells[0].textContent, wide,
              scopes: [...document.querySelectorAll("th")].every((each) => each.scope)};
    """
    assert run_in_page(page, script, tmp_path) == {"first": "tue", "wide": True, "scopes": True}
