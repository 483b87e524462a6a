"""A contribution from outside: tells the agent the rules of the house, where the setting is on.

Install it with an entry point and name it in config.toml:

    [project.entry-points."innkeeper.contributions"]
    house-rules = "house_rules:HouseRules"

    contributions = ["house-rules"]

    [contribution_settings.house-rules]
    enabled = true
    text = "Answer in British English."
"""

from innkeeper.contributions.spi import Addition, Context, Contribution, OutgoingTurn, services


class HouseRules(Contribution):
    id = "house-rules"
    order = 350
    spi = ((1, 0), (2, 0))

    def __init__(self, context: Context, configuration: services.Configuration) -> None:
        self._configuration = configuration

    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | None:
        if self._configuration.setting("house-rules.enabled") is not True:
            return None
        return Addition([str(self._configuration.setting("house-rules.text"))])
