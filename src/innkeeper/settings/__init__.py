"""The operator's wishes: where state lives, what the configuration file says, how `serve` was called (architecture §7).

Values only; reading is done once at the start, writing and watching are not here.
"""
