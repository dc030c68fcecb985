"""SYP: the ensemble of ORA-A and ORA-B.

Paper: Chen, Zhang & Song, "Scoring Your Prediction on Unseen Data", CVPR Workshops 2023.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from oracle.ora_b import OraB

if TYPE_CHECKING:
    from torch import nn


class Syp(OraB):
    """SYP: the mean of ORA-A and ORA-B, each trained alone with the same seed (Chen, Zhang & Song 2023).

    The estimate is mean_i 1[(a_i + b_i) / 2 > threshold], with the networks' probabilities a_i and b_i that
    the classifier is right about image i. The parameters are those of ORA-B and apply to both networks,
    except `dropout`, which applies to ORA-B alone.
    """

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        from oracle.networks import Mlp

        return [partial(Mlp, inputs, self.expansion, 0.0), *super()._networks(inputs)]
