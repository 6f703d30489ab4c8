"""Seeds that once broke a rule, with what it was. They are played for ever: a mended bug stays mended."""

from typing import Final

SEEDS: Final = {
    8: "a send without an answer was called cancelled, and the provider took it late",
    14: "a verdict was recorded twice, the second time after the next attempt had begun",
    16: "a pause without an end",
    17: "a send without an answer was dropped at the end of a pause, and the provider had taken it",
    33: "tries that ended with their process were taken for failures of the handler",
    34: "likewise, after an outcome had cleared the deaths",
    37: "a sender went on although its store was broken",
    67: "a ledger was opened again under nodes that held its lanes",
    129: "a doubt that was resent by policy was dropped at the end of a pause",
    135: "a try that a new era had ended was taken for a failure of the handler",
    344: "what a new era put in doubt had been dropped at the end of a pause before",
    1099: "a disk that was full while the world was set up",
    1197: "a send that its policy had resent was dropped with a pause, and its first try had been taken",
    1586: "a store that broke under a step was taken for a failure of the handler",
    1769: "a backoff that troubles had left behind was longer than a healed world was given",
}

WHATSAPP_SEEDS: Final = {
    33: "a bubble behind a doubt was dropped with a pause, and its lane merged after that",
    70: "a doubt was resent by an operator when its lane had been merged into another",
    110: "the last bubble of a merged lane had a gate that expired",
    308: "the answer to a read mark came when its lane was lost",
    646: "a doubt that its tenant's policy had resent was dropped with a pause, and Graph took the first try late",
    324: "two lanes were merged while both were held",
    361: "a pause that two merged lanes share was another one for the second of them",
    475: "a pause was replaced by one that keeps what waits, and what waited was taken for dropped",
}
"""Likewise, of WhatsApp's worlds; these were wrong themselves."""
