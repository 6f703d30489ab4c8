"""A process that plays seeds: one line of JSON on standard output for each batch of them.

Started by the driver with a fixed PYTHONHASHSEED, without which a seed is not the same world in two processes, and told
which bug to plant before anything of the engine is imported.
"""

import argparse
import json
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--seeds", type=int, required=True)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--plant", default="")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--until-found", action="store_true")
    asked = parser.parse_args(arguments)
    store = None
    if asked.plant:
        from procession.testing.simulation import planted

        store = planted.plant(asked.plant)
    from procession.testing.simulation.kinds import Kind, play_one
    from procession.testing.simulation.report import Campaign
    from procession.testing.simulation.shape import StoreKind
    from procession.testing.simulation.world import sites

    places, kind = sites(), Kind(asked.world)
    for seed in range(asked.first, asked.first + asked.seeds * asked.step, asked.step):
        campaign = Campaign()
        try:
            campaign.add(play_one(kind, seed, places, store=None if store is None else StoreKind(store)))
        except BaseException:
            said = f"procession selftest simulate --world {kind} --seed {seed}"
            sys.stderr.write(f"seed {seed} could not be played: {said}\n")
            raise
        sys.stdout.write(json.dumps(campaign.packed()) + "\n")
        sys.stdout.flush()
        if asked.until_found and campaign.broken:
            break
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
