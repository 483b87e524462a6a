"""The catalogue in the language of the person at this terminal (architecture §3.14)."""

import os

from innkeeper import texts

LANGUAGE = texts.environment_language(os.environ)
"""Chosen once: a process has one environment."""


def text(msgid: str, /, **values: object) -> str:
    """`texts.text` in the user's language."""
    return texts.text(msgid, lang=LANGUAGE, **values)
