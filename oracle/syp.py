"""SYP: the ensemble of ORA-A and ORA-B (Chen, Zhang & Song, CVPR workshops 2023)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from oracle.ora_a import OraA
from oracle.ora_b import OraB

if TYPE_CHECKING:
    from torch import nn


class Syp(OraB):
    """ORA-A and ORA-B, each as if trained alone with the same seed; an image's probability is their mean.

    Its parameters are ORA-B's, and both networks'; only `dropout` is ORA-B's alone.
    """

    def members(self) -> tuple[OraA, OraB]:
        """Returns the two oracles, not fitted, whose networks it trains."""
        parameters = self.get_params()
        shared = {name: parameters[name] for name in OraA().get_params()}
        return OraA(**{**shared, "dropout": 0.0}), OraB(**parameters)

    def join(self, ora_a: OraA, ora_b: OraB) -> "Syp":
        """Take on what its two members have learnt; the same as `fit` where nothing is "cv".

        As after `load`, `predict` works and `predict_interval`, which needs meta-train sets, does not.

        Args:
            ora_a: the first of `members`, fitted.
            ora_b: the second, fitted.
        """
        self._restore({**ora_b._state(), "model": [*ora_a._model(), *ora_b._model()]})
        for member in (ora_a, ora_b):
            self._note(member.undertrained_)
        self.fitted_ = True
        return self

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        from oracle.networks import Mlp

        return [partial(Mlp, inputs, self.expansion, 0.0), *super()._networks(inputs)]
