"""The catalogue of automations, `ahp-automations://` (AHP §11, experimental)."""
