from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from starter.synis.prompts import collect, plan
from starter.synis.styles import STYLES

LABELS = ("cat", "dog", "ship")


def levels_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, 3, (len(LABELS) * 5, 2))


def test_prompts_are_label_by_label():
    texts = collect(LABELS, STYLES[:2])
    assert texts[:3] == ("cat, art nouveau style", "cat, constructivist style", "dog, art nouveau style")


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), per_cell=st.integers(1, 12))
def test_each_cell_is_filled_evenly_from_its_own_prompts(seed: int, per_cell: int):
    styles, levels = STYLES[:5], levels_of(seed)
    images = plan(LABELS, styles, levels, per_cell, seed)
    texts = collect(LABELS, styles)
    cells: dict[str, list[str]] = {}
    for index, (semantic, covariate) in enumerate(levels):
        if min(semantic, covariate) >= 0:
            cells.setdefault(f"s{semantic + 1}_c{covariate + 1}", []).append(texts[index])
    drawn = Counter(image.file.partition("/")[0] for image in images)
    assert drawn == dict.fromkeys(cells, per_cell)
    for cell, members in cells.items():
        used = Counter(image.prompt.text for image in images if image.file.startswith(f"{cell}/"))
        assert set(used) <= set(members)
        counts = [used[text] for text in members]
        assert max(counts) - min(counts) <= 1
    assert len({image.prompt.seed for image in images}) == len(images)
    assert len({image.file for image in images}) == len(images)
    assert images == plan(LABELS, styles, levels, per_cell, seed)


def test_a_cell_does_not_depend_on_the_others():
    styles, levels = STYLES[:5], levels_of(3)
    alone = levels.copy()
    alone[(levels != (1, 1)).any(axis=1)] = -1
    kept = [image for image in plan(LABELS, styles, levels, 4, 0) if image.file.startswith("s2_c2/")]
    assert kept
    assert kept == list(plan(LABELS, styles, alone, 4, 0))
