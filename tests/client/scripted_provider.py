"""A local server that speaks OpenAI's chat and responses protocols and Anthropic's, and plays a script by model name."""

import asyncio
import json
import threading
from collections import Counter
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

# The tool by which a model declares its work done.
FINISH = "finish_work"


class ScriptedProvider:
    """Each model is a behaviour: `steady` reads once and finishes; the others do what their names say."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.seen: Counter[str] = Counter()
        # Every model is out of order for a while.
        self.failing = False
        self.app = FastAPI()
        self.app.add_api_route("/v1/chat/completions", self._chat, methods=["POST"])
        self.app.add_api_route("/v1/responses", self._responses, methods=["POST"])
        self.app.add_api_route("/v1/messages", self._messages, methods=["POST"])
        self._server = uvicorn.Server(uvicorn.Config(self.app, port=0, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> "ScriptedProvider":
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        answered = sum(message["role"] == "tool" for message in body["messages"])
        tools = [tool["function"]["name"] for tool in body["tools"]]
        refusal, call, text = await self._decide(body, answered, tools, json.dumps(body["messages"][1]))
        if refusal is not None:
            return refusal
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if call is not None:
            function = {"name": call[0], "arguments": call[1]}
            message["tool_calls"] = [{"id": f"call_{answered}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop", "logprobs": None}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [{"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}]}
        if body.get("return_token_ids"):
            choice["token_ids"] = [7, 8, 9]
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**head, "choices": [choice], "usage": usage})

    async def _responses(self, request: Request) -> Response:
        body = await request.json()
        answered = sum(item.get("type") == "function_call_output" for item in body["input"])
        tools = [tool["name"] for tool in body["tools"]]
        refusal, call, text = await self._decide(body, answered, tools, json.dumps(body["input"][0]))
        if refusal is not None:
            return refusal
        if call is None:
            content = [{"type": "output_text", "text": text or "", "annotations": []}]
            output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]
        else:
            output = [
                {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "look first"}]},
                {"type": "function_call", "id": "f", "call_id": f"c{answered}", "name": call[0], "arguments": call[1]},
            ]
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return JSONResponse(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 0,
                "model": body["model"],
                "status": "completed",
                "output": output,
                "usage": {**usage, **details},
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
            }
        )

    async def _messages(self, request: Request) -> Response:
        body = await request.json()
        blocks = [block for message in body["messages"] for block in message["content"]]
        answered = sum(block["type"] == "tool_result" for block in blocks)
        tools = [tool["name"] for tool in body["tools"]]
        refusal, call, text = await self._decide(body, answered, tools, json.dumps(body["messages"][0]))
        if refusal is not None:
            return refusal
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "look first", "signature": "s"}]
        if text:
            content.append({"type": "text", "text": text})
        if call is not None:
            given = json.loads(call[1]) if call[1].startswith("{") else {}
            content.append({"type": "tool_use", "id": f"toolu_{answered}", "name": call[0], "input": given})
        return JSONResponse(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": content,
                "stop_reason": "tool_use" if call else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }
        )

    async def _decide(
        self, body: dict[str, Any], answered: int, tools: list[str], brief: str
    ) -> tuple[Response | None, tuple[str, str] | None, str | None]:
        """Returns a refusal, or a call or a text."""
        self.requests.append(body)
        script = body["model"]
        self.seen[brief] += 1
        read = next(name for name in tools if name.endswith(("_list", "_search", "operations")))
        finish: tuple[None, tuple[str, str], None] = (None, (FINISH, "{}"), None)
        if script == "rate-limited" and self.seen[brief] == 1:
            headers = {"retry-after-ms": "10"}
            return JSONResponse({"error": {"message": "slow down"}}, 429, headers=headers), None, None
        if script == "broken" or self.failing:
            return JSONResponse({"error": {"message": "out of order"}}, 500), None, None
        if script == "unknown":
            return JSONResponse({"error": {"message": "no such model"}}, 404), None, None
        if script == "slow":
            await asyncio.sleep(5)
        if script == "garbage":
            return Response("<html>", media_type="application/json"), None, None
        if script == "silent":
            return None, None, ""
        if script == "chatty":
            return None, None, "I would look at the contact first. " * 20
        if script == "endless":
            return None, (read, "{}"), "Once more."
        if script == "malformed" and answered == 0:
            return None, (read, '{"limit": '), None
        if script == "malformed" and answered == 1:
            return None, ("no_such_tool", "{}"), None
        return finish if answered >= 1 else (None, (read, "{}"), "I look first.")
