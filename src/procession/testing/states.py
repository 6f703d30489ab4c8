"""The pictures of the state tables, made from the tables.

`python -m procession.testing.states > docs/reference/states.md` writes the page.
"""

import sys

from procession.core.effect import EFFECT_TABLE, ENDED
from procession.core.lane import LANE_TABLE, Phase


def page() -> str:
    return "\n".join(
        [
            "# States",
            "",
            "Made from the tables in the code by `python -m procession.testing.states`; a test keeps it in step.",
            "",
            "## An effect",
            "",
            *_picture(_effect_moves()),
            "",
            f"Ended: {', '.join(sorted(ENDED))}. What has ended moves no more; receipts climb on.",
            "",
            "## One side of a lane",
            "",
            "A lane that nobody holds rests in the phase that its facts say (`core.lane.resting`), so several moves",
            "may lead from one resting phase into another. What waits has a moment at which it is looked at again or,",
            "at a merge, another lane whose end it waits for. What follows is what may happen.",
            "",
            "| from | move | into |",
            "|---|---|---|",
            *_lane_rows(),
            "",
        ]
    )


def _effect_moves() -> list[tuple[str, str, str]]:
    return [(state, to, move) for (state, move), to in EFFECT_TABLE.items()]


def _picture(moves: list[tuple[str, str, str]]) -> list[str]:
    """One arrow for each pair of states, named by all moves that lead along it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for state, to, move in moves:
        arrows.setdefault((state, to), []).append(move)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    lines.extend(f"    {state} --> {to}: {', '.join(names)}" for (state, to), names in arrows.items())
    lines.extend(f"    {state} --> [*]" for state in sorted(ENDED))
    return [*lines, "```"]


def _lane_rows() -> list[str]:
    phases = list(Phase)
    moves = sorted(LANE_TABLE.items(), key=lambda pair: (phases.index(pair[0][0]), pair[0][1]))
    return [f"| {phase} | {move} | {', '.join(sorted(into))} |" for (phase, move), into in moves]


if __name__ == "__main__":
    sys.stdout.write(page())
