"""Every text that a person reads, by a dotted symbolic id, in English and Simplified Chinese (architecture §3.14).

Rules kept here:

* A text is looked up in the asked language, then in English. Codes and protocol names are values, never translated.
* Asking for an id or a value that does not exist is a programming error: a `RuntimeWarning`, which the test run turns
  into a failure, and never an exception at a user's screen, since texts are often needed while an error is reported.
* Catalogues are in the tree, compiled (`locale/<lang>/LC_MESSAGES/innkeeper.{po,mo}`); `scripts/i18n.py` writes them.
* A leaf: importable by everything above the engine, imports nothing of ours.
"""

import gettext
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

Lang = Literal["en", "zh_Hans"]

LANGUAGES: Final[tuple[Lang, ...]] = ("en", "zh_Hans")
DOMAIN: Final = "innkeeper"
LOCALE_FOLDER: Final = Path(__file__).parent / "locale"


def text(msgid: str, /, *, lang: str = "en", **values: object) -> str:
    """The text of `msgid` in `lang` with `{name}` placeholders filled from `values`.

    A plural text is chosen by the value `n`. A language that is not ours counts as English. Values are inserted as they
    are (their braces are not expanded). Never raises for a missing id or value: it warns, and shows the id or the name.
    """
    template = _template(msgid, "zh_Hans" if lang == "zh_Hans" else "en", values.get("n"))
    if template is None:
        template = _template(msgid, "en", values.get("n"))
    if template is None:
        warnings.warn(f"no text for {msgid!r}", RuntimeWarning, stacklevel=2)
        return msgid
    return template.format_map(_Values(values))


def negotiate(*candidates: str | None) -> Lang:
    """The catalogue language for the given wishes, strongest first; English when none of them is ours.

    A wish is a locale name (`zh_CN.UTF-8`), a language tag (`zh-Hans-CN`) or an `Accept-Language` list. Every Chinese
    tag is served by `zh_Hans`; `C` and `POSIX` are English; an unknown language leaves the choice to the next wish.
    """
    for candidate in candidates:
        for tag in _ranked_tags(candidate or ""):
            primary = tag.replace("_", "-").split(".")[0].split("@")[0].split("-")[0].lower()
            if primary == "zh":
                return "zh_Hans"
            if primary in ("en", "c", "posix"):
                return "en"
    return "en"


def environment_language(environ: Mapping[str, str]) -> Lang:
    """The language of a command-line user: `LC_ALL`, then `LC_MESSAGES`, then `LANG` decides (M9.4)."""
    return negotiate(next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), None))


class _Values(dict[str, object]):
    """Values of one text; a missing one is shown as its name instead of raising."""

    def __missing__(self, key: str) -> str:
        warnings.warn(f"no value for placeholder {key!r}", RuntimeWarning, stacklevel=4)
        return "{" + key + "}"


@cache
def _catalogue(lang: Lang) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE_FOLDER, [lang], fallback=lang != "en")


def _template(msgid: str, lang: Lang, n: object) -> str | None:
    catalogue = _catalogue(lang)
    if isinstance(n, int):
        found = catalogue.ngettext(msgid, msgid, n)
        if found != msgid:
            return found
    found = catalogue.gettext(msgid)
    return None if found == msgid else found


def _ranked_tags(wish: str) -> list[str]:
    ranked: list[tuple[float, str]] = []
    for part in wish.split(","):
        tag, _, parameters = part.partition(";")
        if tag.strip():
            ranked.append((-_weight(parameters), tag.strip()))
    return [tag for weight, tag in sorted(ranked, key=lambda item: item[0]) if weight < 0]


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
