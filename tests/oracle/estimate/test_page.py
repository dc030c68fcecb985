"""The page of an estimate in a browser: nothing that axe-core objects to, and tables that sort."""

import numpy as np
import pytest
from browser import DARK, needs_chromium, run_in_page, violations
from browser import axe as axe

import unseen
from oracle.estimate.page import Pictures, as_json, write_estimation


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
