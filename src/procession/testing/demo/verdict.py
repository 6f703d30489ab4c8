"""What a demo came to."""

from dataclasses import asdict, dataclass
from typing import Final

from procession.testing.demo.referee import Call, Referee

DIGITS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill -9, and the return from it."""

    turns: int
    sends: int
    owed: int
    """Accepted texts that waited for a reply at that moment."""
    accepting_after_s: float
    replying_after_s: float | None = None
    made_good_after_s: float | None = None
    """Until every one of those texts was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    accepted: int
    duplicates_dropped: int
    early_put_in_place: int
    turns: int
    replies: int
    lost: int
    sent_twice: int
    out_of_order: int
    wrong_tenant: int
    not_asked_for: int
    not_accepted: int
    """Typed, and not taken by the engine before time was up."""
    in_doubt: int
    resent_and_dropped_by_key: int
    answer_ms: float | None
    kills: tuple[Kill, ...]
    wrong: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Something was shown, and nothing was wrong with it."""
        wrong = self.lost + self.sent_twice + self.out_of_order + self.wrong_tenant + self.not_asked_for
        return self.accepted > 0 and not (wrong or self.not_accepted or self.in_doubt)

    def document(self) -> dict[str, object]:
        return {"holds": self.holds, **asdict(self)}

    @property
    def line(self) -> str:
        return (
            f"accepted {self.accepted:,}, lost {self.lost}, sent twice {self.sent_twice}, "
            f"out of order {self.out_of_order}, to the wrong tenant {self.wrong_tenant}"
        )


def verdict(referee: Referee, *, kills: tuple[Kill, ...], in_doubt: int, answer_ms: float | None) -> Verdict:
    typed = sum(conversation.typed for conversation in referee.conversations.values())
    return Verdict(
        accepted=referee.accepted,
        duplicates_dropped=referee.duplicates,
        early_put_in_place=referee.early,
        turns=referee.turns,
        replies=referee.replies,
        lost=len(referee.owed()),
        sent_twice=referee.calls[Call.SENT_TWICE],
        out_of_order=referee.calls[Call.OUT_OF_ORDER],
        wrong_tenant=referee.calls[Call.WRONG_TENANT],
        not_asked_for=referee.calls[Call.NOT_ASKED_FOR],
        not_accepted=typed - referee.accepted,
        in_doubt=in_doubt,
        resent_and_dropped_by_key=referee.dropped_by_key,
        answer_ms=None if answer_ms is None else round(answer_ms, DIGITS),
        kills=kills,
        wrong=tuple(referee.wrong),
    )
