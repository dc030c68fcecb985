"""Table 3 of Long et al. 2024: zero-shot accuracy of whole features and of their parts, by PCA and by LAID.

python benchmarks/results/laid.py [--encoder FILE] [--source glyphs] [--seeds 1] [--first 0]
                          [--part test_base]
                          [--steps 1000] [--margin 0.5 ...] [--all-meanings] [--keep DIR]

Without --encoder one of the embedded glyphs is trained for each seed, and its time printed; --keep keeps it.
Printed: the table of each seed, the orthogonality error, and the two figures that LAID is held to: the
semantic half's accuracy within 5 points of the whole feature's, the covariate half's below 0.3 of it; with
several seeds their mean and standard deviation. LAID's settings are chosen on other encoders and other images
than those that are reported: --first 10 --part meta_base.
"""

import argparse
import tempfile
import time
from pathlib import Path

import pandas as pd

from starter.encoders.two_tower import TwoTowerEncoder, embedded_encoder
from starter.shift.laid import (
    MARGIN,
    STEPS,
    Decompose,
    caption_prompts,
    choose_prompts,
    text_pca,
    train_laid,
)
from starter.sources.sources import load_source
from starter.studies.zeroshot import labelled_sets, zero_shot_table, zero_shot_text


def encoder_of(options: argparse.Namespace, seed: int) -> TwoTowerEncoder:
    """The encoder of a seed, read or trained."""
    if options.encoder is not None:
        return TwoTowerEncoder.load(options.encoder)
    started, busy = time.perf_counter(), time.process_time()
    found = embedded_encoder((options.keep or Path(tempfile.mkdtemp())) / f"encoder-{seed}.safetensors", seed)
    spent = time.process_time() - busy
    print(f"encoder: {time.perf_counter() - started:.0f} s, {spent:.0f} s of a processor's time")
    return found


def figures(options: argparse.Namespace, seed: int) -> pd.DataFrame:
    """Print a seed's table; a row a method: points lost by the semantic half, share kept by the other."""
    encoder, splits = encoder_of(options, seed), load_source(options.source, seed=seed)
    prompts = choose_prompts(encoder, splits.classes, seed=seed)
    if options.all_meanings:
        prompts = caption_prompts(encoder.phrases, seed)
    texts = prompts.features(encoder)
    parted: dict[str, Decompose] = {"PCA": text_pca(texts)}
    for margin in options.margin:
        found = train_laid(texts, encoder.name, seed, options.steps, margin)
        parted[f"LAID {margin:g}"] = found.decompose
        print(f"margin {margin:g}: largest |W'W - I| {found.error:.1e}")
    sets = labelled_sets(splits, {}, seed, options.part)
    table = zero_shot_table(encoder, prompts.plain(splits.classes), sets, parted)
    print(f"seed {seed}, {encoder.name}\n{zero_shot_text(table)}\n")
    means = table.groupby(["part", "method"], sort=False)["acc1"].mean()
    whole = means["whole", ""]
    rows = [(100 * (whole - means["semantic", name]), means["covariate", name] / whole) for name in parted]
    return pd.DataFrame(rows, pd.Index(parted, name="method"), ["points lost", "kept by covariate"])


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--encoder", type=Path, help="A file that unseen shift encoder or laid wrote.")
    parser.add_argument("--source", default="glyphs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--part", default="test_base", help="meta_base or val_base to choose settings on.")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--margin", type=float, nargs="+", default=[MARGIN], help="Of LAID, each in turn.")
    parser.add_argument("--all-meanings", action="store_true", help="Prompts of all that the encoder knows.")
    parser.add_argument("--keep", type=Path, help="A folder for the trained encoders.")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    found = pd.concat([figures(options, seed) for seed in seeds], keys=seeds, names=["seed"])
    print(found.to_string(float_format="{:.2f}".format))
    if len(seeds) > 1:
        over = found.groupby("method", sort=False).agg(["mean", "std"])
        print(over.to_string(float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
