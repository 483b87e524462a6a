"""Reducer of the annotations channel of a session (AHP §7, Others). Unknown annotations and entries are ignored."""

from typing import assert_never

from innkeeper.protocol.annotations.actions import AnnotationsAction
from innkeeper.protocol.annotations.state import AnnotationsState
from innkeeper.reduce.fields import drop, merge, update, upsert


def reduce_annotations(state: AnnotationsState, action: AnnotationsAction) -> AnnotationsState:
    """The annotations state after `action`."""
    match action["type"]:
        case "annotations/set":
            return upsert(state, "annotations", action["annotation"])
        case "annotations/updated":
            changes = {field: action.get(field) for field in ("origin", "resource", "range", "resolved")}
            return update(state, "annotations", action["annotationId"], lambda old: merge(old, changes))
        case "annotations/removed":
            return drop(state, "annotations", action["annotationId"])
        case "annotations/entrySet":
            return update(
                state, "annotations", action["annotationId"], lambda old: upsert(old, "entries", action["entry"])
            )
        case "annotations/entryRemoved":
            return update(
                state, "annotations", action["annotationId"], lambda old: drop(old, "entries", action["entryId"])
            )
        case _ as unknown:
            assert_never(unknown)
