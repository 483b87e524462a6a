"""Commands that the host itself runs: the registry, `/rename` and `!command` (K13)."""
