"""What was kept apart, and what operators did about it: dead letters, quarantine, the audit."""

import json
from typing import Any

from procession.core.ids import EventId, LaneId, QuarantineId, TenantId
from procession.ports.console import AsideView, AuditRow, QuarantineView
from procession.storage.instants import moment
from procession.storage.rows import Rows


def asides(
    rows: Rows, tenant: TenantId | None, event: EventId | None, limit: int, *, with_payload: bool
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
        for row in rows.execute("console.asides", asked_for)
    )


def quarantine(rows: Rows, limit: int) -> tuple[QuarantineView, ...]:
    return tuple(_quarantined(row) for row in rows.execute("console.quarantine", (limit,)))


def quarantined(rows: Rows, kept: QuarantineId) -> QuarantineView | None:
    row = rows.execute("console.quarantine_show", (kept,)).fetchone()
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


def audit(rows: Rows, tenant: TenantId | None, limit: int) -> tuple[AuditRow, ...]:
    found = rows.execute("console.audit", {"tenant": tenant, "limit": limit})
    return tuple(
        AuditRow(
            at=moment(at),
            actor=actor,
            tenant=None if owner is None else TenantId(owner),
            verb=verb,
            about=about,
            detail=detail,
        )
        for at, actor, owner, verb, about, detail in found
    )
