"""The whole rig on a small engine: an honest one passes kills and power cuts, one that may lose is convicted."""

import asyncio
import os
import shutil
import sqlite3
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from procession.app.system import SystemClock
from procession.testing.chaos import (
    EffectEnd,
    EventEnd,
    FakeProvider,
    Fault,
    FinalState,
    History,
    Lies,
    LoadGenerator,
    LoadShape,
    Served,
    StoredEffect,
    StoredEvent,
    Verdict,
    check,
    free_port,
    signed_deliveries,
)
from procession.testing.powercut import PowerCut, environment, restart_on
from procession.testing.powercut.build import COMPILERS
from procession.testing.simulation.chance import SeededChance

pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C compiler")

SECRET = b"a secret of the harness"
SOON = timedelta(seconds=30)
EVENTS_A_ROUND = 150
ROUNDS = 4

# One thread accepts, one sends what was accepted, lane by lane in order; both write one SQLite file.
ENGINE = """
import hashlib, hmac, http.client, http.server, json, sqlite3, sys, threading, time
port, provider, synchronous = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
secret = b"a secret of the harness"
db = sqlite3.connect("engine.db", isolation_level=None, check_same_thread=False)
db.execute("pragma journal_mode=wal")
db.execute("pragma synchronous=" + synchronous)
db.execute("create table if not exists events(event text primary key, lane text, n int, seq int, sent int default 0)")
lock = threading.Lock()

class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def log_message(self, *_): pass
    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_GET(self): self.answer(200)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not hmac.compare_digest(self.headers["X-Signature"], hmac.new(secret, body, hashlib.sha256).hexdigest()):
            return self.answer(401)
        read = json.loads(body)
        with lock:
            db.execute(
                "insert into events(event, lane, n, seq) values (?1, ?2, ?3, "
                "(select count(*) + 1 from events where lane = ?2)) on conflict do nothing",
                (read["id"], read["lane"], read["n"]),
            )
        self.answer(200)

def send():
    line = http.client.HTTPConnection("127.0.0.1", provider)
    while True:
        with lock:
            todo = db.execute("select event, lane, n, min(seq) from events where not sent group by lane").fetchall()
        for event, lane, n, seq in todo:
            try:
                body = json.dumps({"event": event, "lane": lane, "n": n, "oseq": seq})
                line.request("POST", "/send", body, {"webhook-id": "fx-" + event})
                answer = line.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                line.close()
                continue
            if answer.status == 200:
                with lock:
                    db.execute("update events set sent = 1 where event = ?", (event,))
        time.sleep(0 if todo else 0.005)

threading.Thread(target=send, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", port), Door).serve_forever()
"""


async def test_an_engine_that_syncs_before_it_answers_passes_kills_and_power_cuts(tmp_path: Path) -> None:
    verdict, cuts = await _campaign(tmp_path, "full")

    assert verdict.findings == ()
    assert verdict.accepted == EVENTS_A_ROUND * (ROUNDS + 1)
    assert len(cuts) == ROUNDS // 2


async def test_an_engine_that_answers_before_it_syncs_is_convicted(tmp_path: Path) -> None:
    verdict, cuts = await _campaign(tmp_path, "normal")

    assert any(cut.lost_bytes for cut in cuts)
    assert {"S1"} == {finding.rule for finding in verdict.lost}, verdict.counts()


async def _campaign(folder: Path, synchronous: str) -> tuple[Verdict, list[PowerCut]]:
    """Load all the time; each round ends with a kill, and every second time the power goes with it."""
    root, shadow, cuts, clock = folder / "root", folder / "shadow", [], SystemClock()
    root.mkdir()
    lies = Lies(refused=0.03, error_after_taking=0.03, cut_before_taking=0.03, cut_after_taking=0.03)
    with History(folder / "history.jsonl", clock) as history:
        async with FakeProvider(history=history, chance=SeededChance(1), lies=lies) as provider:
            port = free_port()
            argv = [sys.executable, "-c", ENGINE, str(port), str(provider.port), synchronous]
            async with Served(argv=argv, folder=root, port=port, clock=clock, output=folder) as engine:
                load = _load_on(port, history, clock)
                await engine.restart(SOON, environment(root, shadow))
                async with asyncio.timeout(90), asyncio.TaskGroup() as group:
                    group.create_task(load.run(EVENTS_A_ROUND * (ROUNDS + 1)))
                    for number in range(1, ROUNDS + 1):
                        while load.accepted < EVENTS_A_ROUND * number:
                            await _a_moment()
                        history.append(Fault(fault="kill", target="engine"))
                        await engine.kill()
                        if number % 2 == 0:
                            history.append(Fault(fault="powercut", target="engine"))
                            cuts.append(restart_on(shadow, root))
                        await engine.restart(SOON, environment(root, shadow))
                await _quiet(root / "engine.db")
                await engine.kill()
        return check(history.entries, _final(root / "engine.db")), cuts


def _load_on(port: int, history: History, clock: SystemClock) -> LoadGenerator:
    return LoadGenerator(
        host="127.0.0.1",
        port=port,
        path="/hooks/chaos",
        deliver=signed_deliveries(SECRET),
        lanes=[f"lane{number}" for number in range(12)],
        history=history,
        clock=clock,
        chance=SeededChance(2),
        shape=LoadShape(connections=6),
    )


async def _quiet(file: Path) -> None:
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        async with asyncio.timeout(60):
            while db.execute("select count(*) from events where not sent").fetchone() != (0,):
                await _a_moment()
    finally:
        db.close()


async def _a_moment() -> None:
    await asyncio.get_running_loop().run_in_executor(None, os.sched_yield)


def _final(file: Path) -> FinalState:
    db = sqlite3.connect(file)
    rows = db.execute("select event, lane, seq, sent from events").fetchall()
    db.close()
    return FinalState(
        events=tuple(
            StoredEvent(event=event, lane=lane, seq=seq, end=EventEnd.DONE if sent else EventEnd.WAITING)
            for event, lane, seq, sent in rows
        ),
        effects=tuple(
            StoredEffect(
                effect=f"fx-{event}",
                event=event,
                lane=lane,
                oseq=seq,
                end=EffectEnd.CONFIRMED if sent else EffectEnd.PENDING,
            )
            for event, lane, seq, sent in rows
        ),
    )
