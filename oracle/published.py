"""The RMSE that papers give, beside which the tables of `oracle.ablate` show their own.

They are in points, over the 40 validation sets of the DataCV challenge (CIFAR-10.1, CIFAR-10.1-C and
CIFAR-10-F): Chen, Zhang & Song (2023), "Scoring Your Prediction on Unseen Data", CVPR workshops, for SYP, and
the challenge's own table (https://github.com/xingjianleng/autoeval_baselines) for the baselines. What a
competition of other sets gives can be compared with them in its order alone.
"""

import math

RESNET, REPVGG = "resnet56", "repvgg_a0"
PAPER = {
    ("1", "rotation"): {RESNET: 7.13, REPVGG: 13.39},
    ("1", "confscore"): {RESNET: 6.99, REPVGG: 8.72},
    ("1", "entropy"): {RESNET: 7.40, REPVGG: 9.09},
    ("1", "atc+lr"): {RESNET: 7.77, REPVGG: 8.13},
    ("1", "fd"): {RESNET: 4.99, REPVGG: 5.97},
    ("1", "syp"): {RESNET: 3.16, REPVGG: 3.65},
    ("2", "+ ora-b"): {RESNET: 3.16, REPVGG: 3.65},
    ("3", "entropy"): {RESNET: 6.11, REPVGG: 7.82},
    ("3", "+ atc"): {RESNET: 6.11, REPVGG: 7.83},
}
"""By table and row, and by network; the numbers of the other rows could not be had."""


def published(table: str, row: str, subject: str) -> float:
    """Returns the RMSE, in points, that the paper gives for a row of a table; nan where none is known.

    Args:
        table: one of `oracle.ablate.TABLES`.
        row: its label there.
        subject: the classifier's name; one that is not in the paper gets ResNet-56's number.
    """
    found = PAPER.get((table, row), {})
    return found.get(REPVGG if subject == REPVGG else RESNET, math.nan)
