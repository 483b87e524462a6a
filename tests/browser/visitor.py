"""A browser's requests without a browser, for tests of what a host answers."""

import http.client
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from browser.conftest import TOKEN

FORM = "application/x-www-form-urlencoded"


class Visitor:
    """A browser's requests without a browser."""

    def __init__(self, stage: Any) -> None:
        self.port = stage.port
        self.cookie = ""
        _, headers, _ = self.get(f"/?tkn={TOKEN}")
        self.cookie = headers["set-cookie"].split(";")[0]

    def ask(
        self, method: str, path: str, body: str | None = None, **headers: str
    ) -> tuple[int, Mapping[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Cookie": self.cookie, "Accept-Language": "en", **named})
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        words = answer.read().decode()
        connection.close()
        return answer.status, told, words

    def get(self, path: str, **headers: str) -> tuple[int, Mapping[str, str], str]:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> tuple[int, Mapping[str, str], str]:
        return self.ask("POST", path, urlencode(fields), Content_Type=FORM, **headers)

    def token(self) -> str:
        found = re.search(r'data-form="(\w+)"', self.get("/")[2])
        assert found is not None
        return found[1]
