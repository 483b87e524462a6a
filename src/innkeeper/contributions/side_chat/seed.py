"""What a side chat's first message is wrapped in, and taking it off again. Pure.

The header tells the length of what is wrapped, so that a user's words which hold the end mark are safe.
"""

import re
from typing import Final

BEGIN: Final = "<side-conversation>"
END: Final = "</side-conversation>"
GUIDANCE: Final = (
    "This is a side conversation beside another one. Explain rather than act: change no files and run no commands "
    "unless the user asks for it here."
)
HEADER: Final = re.compile(rf"{re.escape(BEGIN)}\n<!-- length: (\d+) -->\n")


def wrapped(text: str, selection: str) -> str:
    """`text` after its context; an empty selection is left out."""
    parts = [GUIDANCE]
    if selection:
        parts.append(f"The user selected:\n{selection}")
    context = "\n\n".join(parts)
    return f"{BEGIN}\n<!-- length: {len(context)} -->\n{context}\n{END}\n\n{text}"


def is_wrapped(text: str) -> bool:
    return text.startswith(BEGIN)


def unwrapped(text: str) -> str:
    """The user's words. Without a header, or with one that is wrong, what follows the last end mark."""
    if not is_wrapped(text):
        return text
    found = HEADER.match(text)
    end = f"\n{END}\n\n"
    if found is not None:
        rest = text[found.end() + int(found[1]) :]
        if rest.startswith(end):
            return rest[len(end) :]
    return text.rsplit(END, 1)[-1].lstrip("\n")
