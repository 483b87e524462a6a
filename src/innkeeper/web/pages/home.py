"""The list of sessions as a page of its own."""

from innkeeper.web.asking import Actions, Ask, Pages, View
from innkeeper.web.sidebar import sidebar


async def show(ask: Ask) -> View:
    """The list, with nothing chosen."""
    return View("home.html", ask.reader.t("web.sessions"), sidebar(ask, None), {"archive": False})


PAGES: Pages = (("/", show),)
ACTIONS: Actions = ()
