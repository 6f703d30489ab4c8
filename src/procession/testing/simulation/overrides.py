"""`override` for the type checkers, also before Python 3.12."""

from typing import TYPE_CHECKING

__all__ = ["override"]

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method):  # noqa: ANN001, ANN201 - the checkers see the other one
        return method
