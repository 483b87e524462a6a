"""How links in plans are to be written so that clients can open them; only where the setting is on.

Rules
* One block, tagged, and nothing else; the user's text stays as it is.
"""

from typing import Final

from innkeeper.contributions.spi import Addition, Context, Contribution, OutgoingTurn
from innkeeper.ports.contributed import Configuration

SETTING: Final = "rich_plan_links"
INSTRUCTION: Final = """<rich_plan_markdown>
When you write a plan or a list of tasks in Markdown:
- Link issues and pull requests of GitHub by their full https address, not by number alone.
- Link a commit as [short hash](commit:<full hash>).
- Leave links of the form agent-host-session:… as they are.
- Link this conversation as [title](chat:{chat}).
- Write a command that the reader may run as a task as [label](task:<command>).
</rich_plan_markdown>"""


class MarkdownPlanRichLinks(Contribution):
    """`markdownPlanRichLinks`."""

    id = "markdownPlanRichLinks"
    order = 100

    def __init__(self, context: Context, configuration: Configuration) -> None:
        self._configuration = configuration

    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | None:
        if self._configuration.setting(SETTING) is not True:
            return None
        return Addition([INSTRUCTION.replace("{chat}", turn.chat)])
