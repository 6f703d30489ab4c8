"""How often the state machine draws which of its acts."""

from typing import Final

WEIGHTS: Final = {
    "accept": 8,
    "play": 8,
    "perform": 8,
    "hurry": 4,
    "pass_time": 8,
    "overtake": 3,
    "unite": 5,
    "all_at_once": 5,
    "sweep": 2,
    "sight": 3,
    "claim_turns": 3,
    "claim_sends": 3,
    "settle": 4,
    "remember": 3,
    "release": 2,
    "renew": 2,
    "begin": 3,
    "record": 4,
    "pass_long_time": 1,
    "restart": 1,
    "pause": 2,
    "resume": 3,
    "skip": 1,
    "replay": 3,
    "resolve": 2,
    "cancel": 1,
    "stop_sending": 1,
    "release_halts": 3,
    "begin_a_new_era": 1,
    "look_into_quarantine": 1,
    "change_the_directory": 1,
}
"""How often each act comes, against the others."""
