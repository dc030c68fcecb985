"""The RMSE that papers give, beside which the tables of `oracle.ablate` show their own.

They are in points: Chen, Zhang & Song (2023), "Scoring Your Prediction on Unseen Data", CVPR workshops, whose
table 1 has the baselines of the challenge's own table (https://github.com/xingjianleng/autoeval_baselines),
with `atc-datacv` for ATC. They are over the 40 validation sets of the DataCV challenge (CIFAR-10.1,
CIFAR-10.1-C and CIFAR-10-F); those of table 2 over its 100 test sets, and not told by network. What a
competition of other sets gives can be compared with them in its order alone.
"""

import math

RESNET, REPVGG = "resnet56", "repvgg_a0"
PAPER = {
    ("1", "rotation"): (7.13, 13.39),
    ("1", "confscore"): (6.99, 8.72),
    ("1", "entropy"): (7.40, 9.09),
    ("1", "atc-datacv"): (7.77, 8.13),
    ("1", "fd"): (4.99, 5.97),
    ("1", "ora-a"): (3.16, 3.65),
    ("1", "ora-b"): (3.93, 4.34),
    ("2", "six indicators"): (6.69, 6.69),
    ("2", "+ loss adjustment"): (6.40, 6.40),
    ("2", "+ ora-b"): (6.37, 6.37),
    ("3", "entropy"): (6.11, 7.82),
    ("3", "+ atc"): (6.11, 7.83),
    ("3", "+ fd"): (2.92, 5.78),
    ("3", "+ image indicators"): (3.16, 3.65),
    ("4", "r = 2"): (3.22, 4.39),
    ("4", "r = 4"): (3.21, 4.37),
    ("4", "r = 6"): (3.58, 4.38),
    ("4", "r = 8"): (3.16, 3.65),
    ("4", "r = 10"): (3.17, 4.39),
    ("5", "set"): (3.16, 3.65),
    ("5", "none"): (32.99, 33.96),
}
"""By table and row: of ResNet-56 and of RepVGG-A0."""


def published(table: str, row: str, subject: str) -> float:
    """Returns the RMSE, in points, that the paper gives for a row of a table; nan if it gives none.

    Args:
        table: one of `oracle.ablate.TABLES`.
        row: its label there.
        subject: the classifier's name; one that is not in the paper gets ResNet-56's number.
    """
    resnet, repvgg = PAPER.get((table, row), (math.nan, math.nan))
    return repvgg if subject == REPVGG else resnet
