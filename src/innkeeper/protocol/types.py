"""The building blocks of every declaration, from one place.

How a declaration is read by `protocol.check` and by people:

* `Literal["a", "b"]` alone is a closed enumeration (or a tag): nothing else passes.
* `Literal["a", "b"] | str` is an open enumeration: what we know, and whatever a newer peer adds (AHP §1).
* A union of TypedDicts that share a `Literal` member is told apart by it; an unknown tag passes unless the union is
  `Annotated[..., Closed]`.
* A union that so far has one variant is `Annotated[Variant, Open("kind")]`, so that other tags pass.
* `int` means an integer on the wire (`12`, never `12.0`: typed peers decode 64-bit integers, AHP §15); `float` takes
  both.
* `Sequence[X]` is a JSON array, `Mapping[str, X]` a JSON object with free keys.
"""

from collections.abc import Mapping
from typing import TypeAlias

from typing_extensions import NotRequired, ReadOnly, Required, TypedDict  # noqa: UP035  (one source for all four)

__all__ = [
    "URI",
    "Closed",
    "JsonObject",
    "JsonPrimitive",
    "Meta",
    "NotRequired",
    "Open",
    "Presence",
    "ReadOnly",
    "Required",
    "TypedDict",
]


class Closed:
    """Marks a union of variants that will not grow: an unknown tag is an error."""


class Open:
    """Marks a union with one known variant, told apart by `tag`; other tags pass."""

    __slots__ = ("tag",)

    def __init__(self, tag: str) -> None:
        self.tag = tag


URI: TypeAlias = str
"""An absolute URI, opaque: no scheme says what it names (AHP §3)."""

JsonPrimitive: TypeAlias = str | int | float | bool | None

JsonObject: TypeAlias = Mapping[str, object]
"""An object whose members the protocol does not name."""

Meta: TypeAlias = Mapping[str, object]
"""Free metadata; keys that a receiver does not know are kept and ignored."""

Presence: TypeAlias = Mapping[str, object]
"""`{}` says "supported"; absence says "not supported"."""
