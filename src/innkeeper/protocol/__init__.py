"""What AHP says, declared once: read-only TypedDicts in wire shape, a package a channel (architecture §2, §3).

Rules of the package: names are the protocol's own and nothing of ours is in here (architecture §6); every member
is read-only; an optional member is `NotRequired`, and `null` stands for absence everywhere (AHP §1); no module
postpones its annotations, because that falsifies `__required_keys__`.
"""
