"""A canvas that an extension shows beside a chat (AHP §11, experimental)."""
