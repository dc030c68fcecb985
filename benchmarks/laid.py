"""Table 3 of Long et al. 2024: zero-shot accuracy of whole features and of their parts, by PCA and by LAID.

python benchmarks/laid.py [--encoder FILE] [--source glyphs] [--seeds 1] [--steps 1000] [--all-meanings]

Without --encoder that of the embedded glyphs is trained, and its time printed. Printed: the table of each
seed, the orthogonality error, and the two figures that LAID is held to: the semantic half's accuracy within 5
points of the whole feature's, the covariate half's below 0.3 of it.
"""

import argparse
import time
from pathlib import Path

from starter.encoders.embedded import embedded_encoder
from starter.encoders.two_tower import TwoTowerEncoder
from starter.laid import STEPS, train_laid
from starter.pca import text_pca
from starter.prompts import caption_prompts, choose_prompts
from starter.sources import load_source
from starter.zeroshot import describe, shown_sets, zero_shot_table


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--encoder", type=Path, help="A file that unseen train-encoder or laid wrote.")
    parser.add_argument("--source", default="glyphs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--all-meanings", action="store_true", help="Prompts of all that the encoder knows.")
    options = parser.parse_args()
    for seed in range(options.seeds):
        started, busy = time.perf_counter(), time.process_time()
        if options.encoder is None:
            encoder = embedded_encoder(seed=seed)
            spent = time.process_time() - busy
            print(f"encoder: {time.perf_counter() - started:.0f} s, {spent:.0f} s of a processor's time")
        else:
            encoder = TwoTowerEncoder.load(options.encoder)
        splits = load_source(options.source, seed=seed)
        prompts = choose_prompts(encoder, splits.classes, seed=seed)
        if options.all_meanings:
            prompts = caption_prompts(encoder.phrases, seed)
        texts = prompts.features(encoder)
        found = train_laid(texts, encoder.name, seed, options.steps)
        parted = {"PCA": text_pca(texts), "LAID": found}
        table = zero_shot_table(encoder, prompts.plain(splits.classes), shown_sets(splits, {}, seed), parted)
        print(f"seed {seed}, {encoder.name}\n{describe(table)}")
        print(f"largest |W'W - I|: {found.error:.1e}")
        means = table.groupby(["part", "method"], sort=False)["acc1"].mean()
        for method in parted:
            lost = 100 * (means["whole", ""] - means["semantic", method])
            kept = means["covariate", method] / means["whole", ""]
            print(f"{method}: semantic {lost:.1f} points below the whole, covariate {kept:.2f} of it")


if __name__ == "__main__":
    main()
