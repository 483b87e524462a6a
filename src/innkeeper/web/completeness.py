"""Whether the web UI of this installation is whole: files, templates, texts in both languages (`innkeeper doctor`).

Rules
* Everything that is wrong is named, by its path below the package, or by the text's id and language.
"""

import gettext
import re
from collections.abc import Iterator
from typing import Final

from innkeeper.texts import DOMAIN, LANGUAGES, LOCALE_FOLDER
from innkeeper.web.files import TEMPLATE_FOLDER, TEMPLATES, Files, missing
from innkeeper.web.templates import Templates

ASKED: Final = re.compile(r"\bth?\(\s*['\"]([a-z][\w.]*\w)['\"](?!\s*\+)")
"""A text that a template asks for by its whole id."""


def problems() -> list[str]:
    """What is wrong; empty when the web UI can be served."""
    lacking = missing()
    return lacking or [*Templates(Files()).check(), *_texts()]


def _texts() -> Iterator[str]:
    for lang in LANGUAGES:
        known = gettext.translation(DOMAIN, LOCALE_FOLDER, [lang])
        for name in TEMPLATES:
            for msgid in ASKED.findall((TEMPLATE_FOLDER / name).read_text(encoding="utf-8")):
                plural = known.ngettext(msgid, msgid, 2) != msgid
                if known.gettext(msgid) == msgid and not plural:
                    yield f"{lang}: {msgid} ({name})"
