"""GitHub as Copilot knows it: whose token it is, which models there are, and those models (`POST /responses`)."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from servers.fake_llm.openai_responses import FakeOpenAI

MODELS: Final = {"gpt-5": "GPT-5", "gpt-5-mini": "GPT-5 mini"}
EFFORTS: Final = ("low", "medium", "high")


class FakeGitHub(FakeOpenAI):
    """`tokens` are those that were used."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(*replies)
        self.tokens: set[str] = set()

    def routes(self) -> list[Route]:
        return [
            Route("/copilot_internal/user", self.user),
            Route("/models", self.models),
            Route("/responses", self.answer, methods=["POST"]),
            *super().routes(),
        ]

    async def user(self, http: Request) -> Response:
        self.tokens.add(http.headers.get("authorization", "").rpartition(" ")[2])
        own = {"api": self.url, "proxy": self.url, "telemetry": self.url}
        return JSONResponse(
            {
                "login": "somebody",
                "copilot_plan": "individual",
                "access_type_sku": "free_limited_copilot",
                "chat_enabled": True,
                "analytics_tracking_id": "none",
                "organization_list": [],
                "endpoints": own,
                "quota_snapshots": {},
            }
        )

    async def models(self, http: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_model(id, name) for id, name in MODELS.items()]})


def _model(id: str, name: str) -> dict[str, Any]:
    first = id == next(iter(MODELS))
    return {
        "id": id,
        "name": name,
        "object": "model",
        "version": id,
        "vendor": "somebody",
        "preview": False,
        "model_picker_enabled": True,
        "is_chat_default": first,
        "is_chat_fallback": first,
        "billing": {"is_premium": False, "multiplier": 0},
        "policy": {"state": "enabled", "terms": ""},
        "supported_endpoints": ["/responses"],
        "capabilities": {
            "family": id,
            "type": "chat",
            "object": "model_capabilities",
            "tokenizer": "o200k_base",
            "limits": {"max_context_window_tokens": 128000, "max_output_tokens": 16000, "max_prompt_tokens": 112000},
            "supports": {
                "streaming": True,
                "tool_calls": True,
                "parallel_tool_calls": True,
                "vision": True,
                "reasoning_effort": list(EFFORTS),
            },
        },
    }
