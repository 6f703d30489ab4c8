"""The demo's colours, named for what they say: the same on every terminal that has so many."""

from typing import Final

GOOD: Final = "#3ddc84"
BAD: Final = "#ff5c57"
TWICE: Final = "#f3c13a"
LATE: Final = "#ff79c6"
CALM: Final = "#57c7ff"
PLAIN: Final = "#d8dbe0"
DIM: Final = "#868d99"
FRAME: Final = "#4a505a"
ON_COLOUR: Final = "bold #06140c"
"""Text on a coloured ground."""
OWN_BUBBLE: Final = "#005c4b"
BUBBLE: Final = "#26323a"
BUBBLE_TEXT: Final = "#f2f5f7"
BUBBLE_DIM: Final = "#9fb3b8"
"""A handset's: what its person wrote, what came, and what is written on both."""
