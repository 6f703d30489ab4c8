"""What was kept apart, and what operators did about it: dead letters, quarantine, the audit."""

import json
import sqlite3
from typing import Any, Final

from procession.core.ids import EventId, LaneId, QuarantineId, TenantId
from procession.ports.console import AsideView, AuditRow, QuarantineView
from procession.storage.sqlite.instants import moment
from procession.storage.sqlite.statements import statements

_SQL: Final = statements("console")

Connection = sqlite3.Connection


def asides(
    connection: Connection, tenant: TenantId | None, event: EventId | None, limit: int, *, with_payload: bool
) -> tuple[AsideView, ...]:
    asked_for = {"tenant": tenant, "id": event, "limit": limit}
    return tuple(
        AsideView(
            tenant=TenantId(row[0]),
            id=EventId(row[1]),
            kind=row[2],
            lane=LaneId(row[3]),
            lane_key=row[4],
            seq=row[5],
            at=moment(row[6]),
            reason=row[7],
            payload=row[8] if with_payload else None,
            tries=row[9],
        )
        for row in connection.execute(_SQL["asides"], asked_for)
    )


def quarantine(connection: Connection, limit: int) -> tuple[QuarantineView, ...]:
    return tuple(_quarantined(row) for row in connection.execute(_SQL["quarantine"], (limit,)))


def quarantined(connection: Connection, kept: QuarantineId) -> QuarantineView | None:
    row = connection.execute(_SQL["quarantine_show"], (kept,)).fetchone()
    return None if row is None else _quarantined(row)


def _quarantined(row: tuple[Any, ...]) -> QuarantineView:
    kept, endpoint, at, reason, size, *content = row
    headers, body = content or ("[]", None)
    return QuarantineView(
        id=QuarantineId(kept),
        endpoint=endpoint,
        at=moment(at),
        reason=reason,
        body_bytes=size,
        body=body,
        headers=tuple((name, value) for name, value in json.loads(headers)),
    )


def audit(connection: Connection, tenant: TenantId | None, limit: int) -> tuple[AuditRow, ...]:
    rows = connection.execute(_SQL["audit"], {"tenant": tenant, "limit": limit})
    return tuple(
        AuditRow(
            at=moment(at),
            actor=actor,
            tenant=None if owner is None else TenantId(owner),
            verb=verb,
            about=about,
            detail=detail,
        )
        for at, actor, owner, verb, about, detail in rows
    )
