"""What stands in the place of a field that a method reads without naming it in its `needs`."""

from collections.abc import Sequence
from typing import NoReturn

from submission.errors import UnusableInput


class NotInNeeds(UnusableInput, AttributeError):
    """A field was read that is not in `needs`."""


class Undeclared:
    """A field that a method did not declare: whatever is done with it says so, in one line."""

    def __init__(self, name: str, needs: Sequence[str]) -> None:
        self.__dict__.update(name=name, needs=(*needs, name))

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        name, needs = vars(self).get("name"), vars(self).get("needs")
        raise NotInNeeds(f"{name} is not in needs: add needs = {needs}")

    __getattr__ = __getitem__ = __len__ = __iter__ = __contains__ = __call__ = __bool__ = _refuse
    __array__ = __float__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __matmul__ = __pow__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = __rpow__ = _refuse
