"""SYP: the ensemble of ORA-A and ORA-B (Chen, Zhang & Song, CVPR workshops 2023)."""

from torch import nn

from oracle.networks import Mlp
from oracle.ora_b import OraB


class Syp(OraB):
    """ORA-A and ORA-B, trained on one table one after the other; an image's probability is their mean.

    Its parameters are ORA-B's, and both networks'; only `dropout` is ORA-B's alone.
    """

    def _make_networks(self, inputs: int) -> list[nn.Module]:
        return [Mlp(inputs, self.expansion, 0.0), *super()._make_networks(inputs)]
