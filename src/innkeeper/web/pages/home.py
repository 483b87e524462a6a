"""The list of sessions as a page of its own; before there is any, the first start."""

from innkeeper.web.asking import Actions, Ask, Done, Pages, View
from innkeeper.web.first_start import FirstStart
from innkeeper.web.link import ROOT
from innkeeper.web.sidebar import sidebar


async def show(ask: Ask) -> View:
    """The list, with nothing chosen; three steps where there is no session yet."""
    await ask.link.client()
    if not ask.link.sessions.all():
        return await show_first(ask)
    return View("home.html", ask.reader.t("web.sessions"), sidebar(ask, None), {"archive": False})


async def show_first(ask: Ask) -> View:
    """The first start."""
    first = FirstStart(ask)
    await first.prepare()
    regions = (*sidebar(ask, None), *first.regions())
    return View("first.html", ask.reader.t("web.first.title"), regions, {"new": first}, prepare=first.prepare)


async def look_again(ask: Ask) -> Done:
    """Looks for agents again; what changed comes to every page."""
    await ask.link.request("x-innkeeper/agents/look", {"channel": ROOT})
    return Done("/welcome", answer={"said": ask.reader.t("web.first.looked")})


PAGES: Pages = (("/", show), ("/welcome", show_first))
ACTIONS: Actions = (("/welcome/look", look_again),)
