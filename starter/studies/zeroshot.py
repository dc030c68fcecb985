"""Zero-shot classification by whole features and by their parts: table 3 of Long et al. 2024."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics.pairwise import cosine_similarity

from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.operations import GROUPS
from starter.data.sets.recipe import Recipe
from starter.data.sources.glyphs.digits import CLASSES, NATURAL, natural_set
from starter.data.sources.sources import load_images, load_source, set_names
from starter.data.sources.splits import Splits
from starter.models.encoders import Encoder
from starter.models.encoders.choose import load_encoder
from starter.studies.shift.grid import AXES
from starter.studies.shift.laid import Decompose, Laid, choose_prompts, text_features, text_pca, train_laid
from starter.studies.study import Study
from submission.arrays import FloatArray, IntArray
from submission.random import ZERO_SHOT

IMAGES = 3000
SEVERITY = 3


def laid_study(
    *,
    encoder: str = "embedded",
    source: str = "glyphs",
    labels: Path | None = None,
    natural: Sequence[str] = (),
    steps: int = 1000,
    seed: int = 0,
    device: str = "cpu",
) -> tuple[Laid, Study]:
    """Returns a matrix that separates an encoder's features into meaning and style, and table 3 of it."""
    splits = load_source(source, seed)
    shifted = {
        name: load_images(name, splits.classes, fit=Fit(splits.image_size))
        for path in natural
        for name in set_names(path, splits.classes)
    }
    eyes = load_encoder(encoder, device)
    meanings, covariates = choose_prompts(eyes, splits.classes, labels, seed)
    texts = text_features(eyes, meanings, covariates)
    laid = train_laid(texts, eyes.name, seed, steps, device=device)
    parts = {"PCA": text_pca(texts), "LAID": laid.decompose}
    plain = [covariates[0].replace("{}", name) for name in splits.classes]
    table = zero_shot_table(eyes, plain, labelled_sets(splits, shifted, seed), parts)
    return laid, Study({"table3": table}, {}, zero_shot_text(table), Path("laid"))


def zero_shot(images: FloatArray, texts: FloatArray, labels: IntArray, top: int = 1) -> float:
    """Returns the top-`top` accuracy of images (n, l) by cosine with the classes' texts (k, l)."""
    similar = cosine_similarity(images, texts)
    own = similar[np.arange(len(labels)), labels]
    return float(((similar > own[:, None]).sum(1) < top).mean())


def zero_shot_table(
    encoder: Encoder,
    texts: Sequence[str],
    sets: Mapping[str, ImageSet],
    decompositions: Mapping[str, Decompose],
) -> pd.DataFrame:
    """Returns columns `part` (whole, semantic, covariate), `method`, `set`, `acc1`, `acc5`, fractions."""
    of_classes, rows = encoder.encode_texts(texts), []
    for name, images in sets.items():
        seen = encoder.encode_images(images.images)
        parts = [("whole", "", seen, of_classes)]
        for method, decompose in decompositions.items():
            parts += zip(AXES, (method, method), decompose(seen), decompose(of_classes), strict=True)
        for part, method, image_part, text_part in parts:
            shares = (zero_shot(image_part, text_part, images.truth, top) for top in (1, 5))
            rows.append((part, method, name, *shares))
    return pd.DataFrame(rows, columns=["part", "method", "set", "acc1", "acc5"])


def zero_shot_text(table: pd.DataFrame) -> str:
    """Returns the table in the paper's form: a row per part and method, two columns per set, in percent."""
    rows = table.assign(method=table["method"].replace("", "-"))
    wide = rows.pivot_table(index=["part", "method"], columns="set", values=["acc1", "acc5"], sort=False)
    wide = (100 * wide).swaplevel(axis=1)[list(dict.fromkeys(table["set"]))]
    title = "Zero-shot accuracy in %: acc1 of the first answer, acc5 of the first five"
    return f"{title}\n\n{wide.to_string(float_format='{:.1f}'.format)}"


def labelled_sets(splits: Splits, natural: Mapping[str, ImageSet], seed: int = 0) -> dict[str, ImageSet]:
    """Returns 3,000 test images, the same corrupted (an equal share each), and naturally shifted ones."""
    rows = ZERO_SHOT(seed).permutation(len(splits.test_base))[:IMAGES]
    test, names = splits.test_base.take(np.sort(rows), "test"), GROUPS["corruptions"]
    shares = (test.take(np.arange(start, len(test), len(names))) for start in range(len(names)))
    corrupted = [
        Recipe(name, seed, ((name, {"severity": SEVERITY}),)).render(share)
        for name, share in zip(names, shares, strict=False)
        if len(share)
    ]
    if not natural and splits.classes == CLASSES:
        natural = {
            name: natural_set(name, IMAGES // len(NATURAL), seed, name, "test_base") for name in NATURAL
        }
    found = {"test": test, "corrupted": ImageSet.joined("corrupted", corrupted)}
    return found | ({"natural": ImageSet.joined("natural", list(natural.values()))} if natural else {})
