"""`procession selftest simulate` and `procession selftest planted`: seeds, shared out over processes."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import IO, Any, Final

from procession.testing.simulation.kinds import Kind, play_one
from procession.testing.simulation.planted import Plant, catalogue, named
from procession.testing.simulation.report import Broken, Campaign
from procession.testing.simulation.world import sites

_HASH_SEED: Final = "0"
_BROKEN_SHOWN_MAX: Final = 5
_EXCERPT_LINES: Final = 60
_TOLD_OTHERWISE: Final = frozenset({"world", "seeds", "events", "violations", "await_sites", "rare"})


def simulate(
    *,
    seeds: int,
    first: int = 0,
    seed: int | None = None,
    workers: int | None = None,
    as_json: bool = False,
    world: str = Kind.STANDARD,
) -> int:
    """Play the worlds `first` to `first + seeds`; 0 if every rule held in each of them."""
    kind = Kind(world)
    if seed is not None:
        return _replay(seed, kind)
    campaign = Campaign()
    shown = _Progress(seeds, "worlds")
    for part in _played(seeds, first, workers or os.cpu_count() or 1, kind):
        campaign.merge(part)
        shown.show(campaign.seeds, f"{campaign.events:,} events, {len(campaign.broken)} violations")
    shown.end()
    places = sites()
    summary = campaign.summary(places) if kind is Kind.STANDARD else campaign.summary_of_whatsapp(places)
    for broken in sorted(campaign.broken, key=lambda each: each.seed)[:_BROKEN_SHOWN_MAX]:
        _tell(broken, _replayed_by(broken.seed, kind))
    if as_json:
        print(json.dumps(summary))  # noqa: T201 - the command's own output
    else:
        _print_summary(summary, campaign.never_crashed_at(places), campaign.never_stood_at(places))
    return 1 if campaign.broken else 0


def planted(
    *,
    plant: str | None = None,
    seeds_max: int = 500,
    only_list: bool = False,
    workers: int | None = None,
    as_json: bool = False,
) -> int:
    """Plant each known bug (or one) and look for it. 0 if all were found; 1 for the one that was asked for."""
    plants = catalogue()
    if only_list:
        for each in plants:
            print(f"{each.name:32} {each.what}")  # noqa: T201
        return 0
    if plant is not None:
        return _look_for_one(named(plant), seeds_max)
    found: dict[str, int] = {}
    shown = _Progress(len(plants), "planted bugs")
    with closing(_all_planted(plants, seeds_max, workers or os.cpu_count() or 1)) as results:
        for done, (each, seeds, broken) in enumerate(results, 1):
            if broken is not None:
                found[each.name] = seeds
            shown.show(done, f"{each.name}: {'not found' if broken is None else f'after {seeds}'}")
            if not as_json:
                told = "NOT FOUND" if broken is None else f"found after {seeds:3} worlds: {broken.rule} {broken.text}"
                print(f"{each.name:32} {told[:120]}")  # noqa: T201
    shown.end()
    result = {"total": len(plants), "found": len(found), "seeds_max": max(found.values(), default=0)}
    missed = [each.name for each in plants if each.name not in found]
    if missed:
        print(f"not found: {', '.join(missed)}", file=sys.stderr)  # noqa: T201
    print(json.dumps(result) if as_json else f"{result['found']} of {result['total']} planted bugs found")  # noqa: T201
    return 1 if missed else 0


# --- one world ---


def _replayed_by(seed: int, kind: Kind) -> str:
    world = "" if kind is Kind.STANDARD else f"--world {kind} "
    return f"procession selftest simulate {world}--seed {seed}"


def _replay(seed: int, kind: Kind) -> int:
    """One world, told in full. In a process of its own: the hash seed is a matter of how a process is started."""
    if os.environ.get("PYTHONHASHSEED") != _HASH_SEED:
        code = "import sys; from procession.testing.simulation.driver import simulate; "
        code += f"sys.exit(simulate(seeds=1, seed={seed}, world={kind.value!r}))"
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=_environment(), check=False).returncode  # noqa: S603 - our own interpreter
    played = play_one(kind, seed, sites(), store=None, whole=True)
    for line in played.history:
        print(line)  # noqa: T201
    if played.violation is None:
        print(f"world {seed}: {played.events} events, every rule held")  # noqa: T201
        return 0
    broken = Broken(seed=seed, rule=played.violation.rule, text=played.violation.text, excerpt=played.excerpt)
    _tell(broken, _replayed_by(seed, kind))
    return 1


# --- many worlds ---


def _played(seeds: int, first: int, workers: int, kind: Kind) -> Iterator[Campaign]:
    workers = min(workers, seeds)
    commands = []
    for number in range(workers):
        count = len(range(first + number, first + seeds, workers))
        commands.append(
            ["--first", str(first + number), "--seeds", str(count), "--step", str(workers), "--world", kind.value]
        )
    with closing(_lines([_start(command) for command in commands])) as lines:
        for _, line in lines:
            yield Campaign.unpacked(json.loads(line))


def _lines(children: Sequence[subprocess.Popen[str]]) -> Generator[tuple[int, str], None, None]:
    """Whatever any of them says, as it comes. All are ended when nobody listens any more."""
    from selectors import EVENT_READ, DefaultSelector

    with DefaultSelector() as selector:
        for number, child in enumerate(children):
            selector.register(_out(child), EVENT_READ, number)
        try:
            while selector.get_map():
                for key, _ in selector.select():
                    line = _out(children[key.data]).readline()
                    if line:
                        yield key.data, line
                        continue
                    selector.unregister(key.fileobj)
                    if children[key.data].wait() != 0:
                        raise RuntimeError("a process that plays worlds has failed; its last words stand above")
        finally:
            for child in children:
                child.kill()
                child.wait()
                _out(child).close()


def _out(child: subprocess.Popen[str]) -> IO[str]:
    assert child.stdout is not None
    return child.stdout


def _start(arguments: Sequence[str]) -> subprocess.Popen[str]:
    # Unbuffered lines one by one: what was read ahead, a selector could not see.
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "procession.testing.simulation.worker", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    path = os.pathsep.join(part for part in sys.path if part)
    return {**os.environ, "PYTHONHASHSEED": _HASH_SEED, "PYTHONPATH": path}


# --- planted bugs ---


def _look_for_one(plant: Plant, seeds_max: int) -> int:
    seeds, broken = _look_for(plant, seeds_max)
    if broken is None:
        print(f"{plant.name} was not found in {seeds} worlds", file=sys.stderr)  # noqa: T201
        return 2
    print(f"{plant.name}: {plant.what}\nfound in world {broken.seed}, after {seeds}")  # noqa: T201
    _tell(broken, f"procession selftest planted --plant {plant.name}", out=sys.stdout)
    return 1


def _look_for(plant: Plant, seeds_max: int) -> tuple[int, Broken | None]:
    seeds = 0
    with closing(_lines([_start(_hunt(plant, seeds_max))])) as lines:
        for _, line in lines:
            campaign = Campaign.unpacked(json.loads(line))
            seeds += 1
            if campaign.broken:
                return seeds, campaign.broken[0]
    return seeds, None


def _all_planted(
    plants: Sequence[Plant], seeds_max: int, workers: int
) -> Generator[tuple[Plant, int, Broken | None], None, None]:
    """Some at a time, one process each."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(workers) as pool:
        looking = {pool.submit(_look_for, plant, seeds_max): plant for plant in plants}
        for done in as_completed(looking):
            yield looking[done], *done.result()


def _hunt(plant: Plant, seeds_max: int) -> list[str]:
    worlds = ["--world", plant.world, "--first", "0", "--seeds", str(seeds_max)]
    return [*worlds, "--plant", plant.name, "--until-found"]


# --- what is shown ---


def _tell(broken: Broken, replay: str, out: IO[str] | None = None) -> None:
    to = out or sys.stderr
    print(f"\nseed {broken.seed}: {broken.rule}: {broken.text}", file=to)
    for line in broken.excerpt[-_EXCERPT_LINES:]:
        print(line, file=to)
    print(f"replay: {replay}", file=to)


def _print_summary(summary: dict[str, Any], missed: list[str], unreached: list[str]) -> None:
    awaits = summary["await_sites"]
    print(f"{summary['seeds']} worlds, {summary['events']:,} events, {summary['violations']} violations")  # noqa: T201
    for name, count in summary.items():
        if name not in _TOLD_OTHERWISE:
            print(f"{name.replace('_', ' ')}: {count:,}")  # noqa: T201
    print(f"died at {awaits['crashed_at']} of {awaits['total']} awaits")  # noqa: T201
    for name, count in summary["rare"].items():
        print(f"  {name:28} {count:,}")  # noqa: T201
    for title, sites_shown in (("never died at", missed), ("never waited at", unreached)):
        if sites_shown:
            print(f"{title}: {', '.join(sites_shown)}")  # noqa: T201


class _Progress:
    """A bar on standard error, where that is a terminal."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._is_shown = sys.stderr.isatty()

    def show(self, done: int, more: str) -> None:
        if self._is_shown:
            filled = 30 * done // self._total
            bar = "█" * filled + "░" * (30 - filled)
            sys.stderr.write(f"\r{bar} {done}/{self._total} {self._what}, {more}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
