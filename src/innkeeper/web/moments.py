"""Points in time as a person reads them, in the time zone of the host."""

from datetime import datetime

from innkeeper.texts import Lang


def moment(at: str, lang: Lang) -> str:
    """`28 Nov 17:02`, `11 月 28 日 17:02`; what is no ISO 8601 time stays as it is."""
    try:
        found = datetime.fromisoformat(at).astimezone()
    except ValueError:
        return at
    if lang == "en":
        return f"{found.day} {found:%b %H:%M}"
    return f"{found.month} 月 {found.day} 日 {found:%H:%M}"
