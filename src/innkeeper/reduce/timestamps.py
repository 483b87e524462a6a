"""Date arithmetic of the reducers: no clock, only what the action says (AHP §6, §7 "Ending a turn")."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def end_of(started_at: object, duration: float) -> str | None:
    """`started_at` plus `duration` milliseconds as UTC ISO 8601 with milliseconds, for example `…T05:00:00.250Z`.

    Offsets are normalised, digits beyond the millisecond are cut off, a time without a zone counts as UTC.
    `None` when `started_at` is not a timestamp or the sum leaves the years 1 to 9999; the caller keeps what it has.
    """
    if not isinstance(started_at, str):
        return None
    try:
        started = datetime.fromisoformat(started_at.upper())
        if started.tzinfo is None:
            started = started.replace(tzinfo=UTC)
        ended = _EPOCH + ((started - _EPOCH) // _MILLISECOND + int(duration)) * _MILLISECOND
    except (ValueError, OverflowError):
        return None
    return ended.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
