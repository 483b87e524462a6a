"""Templates: Jinja2 with autoescape, and what every template may call.

Rules
* Everything that is put into a page is escaped; only `markdown.render` and what was rendered here is markup.
* A template that asks for a name that is not there fails, in tests and in the log, instead of showing nothing. A
  member that a state of AHP does not have counts as absent, since many are optional there.
* Texts come from the one catalogue, by `t(ID, …)`, in the language of the reader.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template, Undefined
from jinja2.utils import missing
from markupsafe import Markup, escape

from innkeeper.texts import Lang, text
from innkeeper.web.files import TEMPLATE_FOLDER, Files


class Absent(Undefined):
    """Nothing, where a mapping lacks an optional member; an error, where a template names what it was not given."""

    def _told(self) -> None:
        if self._undefined_obj is missing:
            self._fail_with_undefined_error()

    def __str__(self) -> str:
        self._told()
        return ""

    def __bool__(self) -> bool:
        self._told()
        return False

    def __iter__(self) -> Iterator[Any]:
        self._told()
        return iter(())


class Templates:
    """The templates as they are now; a changed file is compiled anew."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._compiled: dict[str, Template] = {}
        self._seen = ""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATE_FOLDER),
            autoescape=True,
            undefined=Absent,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )

    def render(self, name: str, values: Mapping[str, Any]) -> Markup:
        """The template `name` with `values`, as markup."""
        return Markup(self._template(name).render(values))

    def check(self) -> list[str]:
        """Templates that cannot be compiled, with the reason."""
        found = []
        for name in self._environment.list_templates():
            try:
                self._environment.get_template(name)
            except Exception as error:
                found.append(f"{name}: {error}")
        return found

    def _template(self, name: str) -> Template:
        fingerprint = self._files.fingerprint
        if fingerprint != self._seen:
            self._seen = fingerprint
            self._compiled.clear()
            if self._environment.cache is not None:
                self._environment.cache.clear()
        template = self._compiled.get(name)
        if template is None:
            template = self._compiled[name] = self._environment.get_template(name)
        return template


class Reader:
    """What templates are given of the person who reads: language, addresses, texts, icons."""

    def __init__(self, *, lang: Lang, base: str, fingerprint: str, theme: str = "system") -> None:
        self.lang: Lang = lang
        self.base = base
        """The path below which a proxy shows the host; "" at the top."""
        self.fingerprint = fingerprint
        self.theme = theme

    def t(self, msgid: str, **values: object) -> str:
        """A text of the catalogue."""
        return text(msgid, lang=self.lang, **values)

    def raw(self, msgid: str) -> str:
        """A text with its placeholders as they are, for the script."""
        return text(msgid, lang=self.lang, **{name: f"{{{name}}}" for name in ("n", "clock", "name")})

    def th(self, msgid: str, **values: object) -> Markup:
        """A text whose `backquoted` parts and values become code; everything is escaped."""
        return self.coded(text(msgid, lang=self.lang, **values))

    def coded(self, words: str) -> Markup:
        """Words whose `backquoted` parts become code; everything is escaped."""
        parts = words.split("`")
        return Markup("").join(
            Markup("<code>{}</code>").format(part) if odd % 2 else escape(part) for odd, part in enumerate(parts)
        )

    def url(self, path: str) -> str:
        """The address of a page or action; `path` begins with a slash."""
        return self.base + path

    def static(self, name: str) -> str:
        """The address of a static file."""
        return f"{self.base}/static/{self.fingerprint}/{name}"

    def icon(self, name: str, extra: str = "") -> Markup:
        """An icon of the sprite; it has no name of its own, its control has."""
        markup = '<svg class="icon {}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>'
        return Markup(markup).format(extra, self.static("icons.svg"), name)

    def values(self) -> dict[str, Callable[..., Any] | str]:
        """The names that every template has."""
        return {
            "t": self.t,
            "th": self.th,
            "url": self.url,
            "static": self.static,
            "icon": self.icon,
            "lang": self.lang.replace("_", "-"),
            "theme": self.theme,
            "fingerprint": self.fingerprint,
            "gap": "" if self.lang == "zh_Hans" else " ",
        }
