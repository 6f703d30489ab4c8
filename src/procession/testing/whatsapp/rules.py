"""Which of Meta's rules hold in a simulation: all of them as documented, unless some are changed or switched off."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Seconds are the simulation's own. None: the rule does not hold."""

    text_chars_max: int | None = 4096
    window_s: float | None = 24 * 3600.0
    """How long after a person's last text anything but a template may go to them (131047)."""
    pair_every_s: float | None = 6.0
    """One send to the same person in so long, in the long run (131056)."""
    pair_burst: int = 45
    """So many may go within one `pair_every_s`, on credit."""
    pair_slack_s: float = 0.5
    """How much earlier than documented is let pass: what was sent in time may take shorter on the wire."""
    per_second: int | None = 80
    """Of one number, both ways counted (130429)."""
    answer_s: tuple[float, float] = (0.0, 0.0)
    """How long Graph takes to answer a send that it has accepted, at least and at most."""


FREE = Rules(text_chars_max=None, window_s=None, pair_every_s=None, per_second=None)
"""No rule holds: for what is about something else."""
