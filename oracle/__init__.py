"""The SYP oracle: indicators of single images, and the models that read them; `ORACLES` has them by name.

Each name is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from submission.lazy import lazily

if TYPE_CHECKING:
    from oracle.named import ORACLES as ORACLES
    from oracle.ora_a import OraA as OraA
    from oracle.ora_b import OraB as OraB
    from oracle.ora_l import OraL as OraL
    from oracle.syp import Syp as Syp
    from oracle.unseen_best import UnseenBest as UnseenBest

__getattr__ = lazily(
    __name__,
    {
        "ORACLES": "oracle.named",
        "OraA": "oracle.ora_a",
        "OraB": "oracle.ora_b",
        "OraL": "oracle.ora_l",
        "Syp": "oracle.syp",
        "UnseenBest": "oracle.unseen_best",
    },
)
