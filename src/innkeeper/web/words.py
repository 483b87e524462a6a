"""The texts that the script needs, as one attribute of the page."""

import json

from innkeeper.web.asking import Ask

TEXTS = {
    "away": "web.host_lost_retry",
    "stale": "web.stale",
    "reload": "web.reload",
    "close": "web.close",
    "copy": "web.copy",
    "copied": "web.copied",
    "failed": "web.failed",
    "now": "web.now",
    "seconds": "web.seconds",
    "idle": "web.composer.idle",
    "running": "web.composer.running",
    "running_short": "web.composer.running_short",
    "not_loaded": "web.not_loaded",
    "open": "web.open",
    "remove": "web.remove",
    "working": "web.chat.working",
}


def words(ask: Ask) -> str:
    """A JSON object of texts in the reader's language; placeholders stay as they are."""
    reader = ask.reader
    told = {name: reader.raw(msgid) for name, msgid in TEXTS.items()}
    return json.dumps({**told, "copy_icon": reader.icon("copy"), "bad_icon": reader.icon("failed")}, ensure_ascii=False)
