"""The server of the scripted models: reads a request of each protocol, and writes the script's reply in it."""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from tests.scripted_provider.asked import Asked, Scripted
from tests.scripted_provider.scripts import THINKING, WITHOUT_REASONING, reply_to
from tests.scripted_provider.tool_rules import find_refused_tools

# smolagents hands the answer to a call over as a message of the user that begins so.
_OBSERVATION = "Observation:"
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# How OpenAI's Responses API names the ends of a reply that chat completions tell by their finish reason.
_STATUSES = {"error": "failed", "length": "incomplete"}
_TOKENS = {"input_tokens": 100, "output_tokens": 10}


class ScriptedProvider:
    """Serves in a thread between `start` and `stop`; `requests` holds every body that came in."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.requests: list[dict[str, Any]] = []
        # Every model is out of order for a while.
        self.failing = False
        self._seconds = seconds
        self._seen: Counter[tuple[str, int]] = Counter()
        self.app = FastAPI()
        self.app.add_api_route("/v1/chat/completions", self._chat, methods=["POST"])
        self.app.add_api_route("/v1/responses", self._responses, methods=["POST"])
        self.app.add_api_route("/v1/messages", self._messages, methods=["POST"])

    def start(self) -> "ScriptedProvider":
        self._server = uvicorn.Server(uvicorn.Config(self.app, port=0, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join()

    @property
    def url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        if refusal := _refuse_tools(body) or _refuse_calls(_calls_of_chat(body)):
            return refusal
        replies = [message for message in body["messages"] if message["role"] == "assistant"]
        if body["model"] == THINKING and not all("reasoning_content" in reply for reply in replies):
            return JSONResponse({"error": {"message": "The `reasoning_content` must be passed back to the API."}}, 400)
        texts = [(message["role"], _text_of(message.get("content"))) for message in body["messages"]]
        answers = [text for role, text in texts if role == "tool" or text.startswith(_OBSERVATION)]
        told = [text for role, text in texts if role == "user" and not text.startswith(_OBSERVATION)]
        tools = [tool["function"]["name"] for tool in body.get("tools", [])]
        reply = await self._decide(body, told[0], tools, answers, told)
        if failure := _find_failure(reply):
            return failure
        completion = _write_completion(body, reply, len(answers))
        return _stream_completion(completion) if body.get("stream") else JSONResponse(completion)

    async def _responses(self, request: Request) -> Response:
        body = await request.json()
        items = [{"role": "user", "content": body["input"]}] if isinstance(body["input"], str) else body["input"]
        calls = [item for item in items if item.get("type") == "function_call"]
        if refusal := _refuse_tools(body) or _refuse_calls((call["name"], call["arguments"]) for call in calls):
            return refusal
        if body["model"] == WITHOUT_REASONING and body.get("include"):
            self.requests.append(body)
            return JSONResponse({"error": {"message": "Encrypted content is not supported with this model."}}, 400)
        answers = [_text_of(item["output"]) for item in items if item.get("type") == "function_call_output"]
        told = [_text_of(item["content"]) for item in items if item.get("role") == "user"]
        reply = await self._decide(body, told[0], [tool["name"] for tool in body["tools"]], answers)
        return _find_failure(reply) or JSONResponse(_write_response(body, reply, len(answers)))

    async def _messages(self, request: Request) -> Response:
        body = await request.json()
        blocks = [block for message in body["messages"] for block in _blocks_of(message["content"])]
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if refusal := _refuse_tools(body) or _refuse_calls((call["name"], json.dumps(call["input"])) for call in calls):
            return refusal
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return JSONResponse({"error": {"message": "text content blocks must contain non-whitespace text"}}, 400)
        answers = [_text_of(block["content"]) for block in blocks if block["type"] == "tool_result"]
        told = [block["text"] for block in _blocks_of(body["messages"][0]["content"])]
        reply = await self._decide(body, told[0], [tool["name"] for tool in body["tools"]], answers)
        return _find_failure(reply) or JSONResponse(_write_message(body, reply, len(answers)))

    async def _decide(
        self, body: dict[str, Any], brief: str, tools: list[str], answers: list[str], messages: Sequence[str] = ()
    ) -> Scripted:
        self.requests.append(body)
        self._seen[brief, len(answers)] += 1
        if self.failing:
            return Scripted(failure=500)
        times = self._seen[brief, len(answers)]
        reply = reply_to(body["model"], Asked(brief, tuple(tools), tuple(answers), times, tuple(messages)))
        if pause := self._seconds + reply.seconds:
            await asyncio.sleep(pause)
        return reply


def _calls_of_chat(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for message in body["messages"]:
        functions = [call["function"] for call in message.get("tool_calls") or ()]
        yield from ((function["name"], function["arguments"]) for function in functions)


def _refuse_tools(body: dict[str, Any]) -> Response | None:
    """Refuses a list of tools as OpenAI and Anthropic do, whatever else the request holds."""
    reasons = find_refused_tools(body.get("tools") or ())
    return JSONResponse({"error": {"message": "; ".join(reasons)}}, 400) if reasons else None


def _refuse_calls(calls: Iterable[tuple[str, str]]) -> Response | None:
    """Refuses a conversation as servers do.

    OpenAI and Anthropic take names of these letters only; llama.cpp, vLLM and SGLang render arguments, which must be a
    JSON object.
    """
    for name, text in calls:
        if not _TOOL_NAME.fullmatch(name):
            return JSONResponse({"error": {"message": f"{name!r} does not match {_TOOL_NAME.pattern}"}}, 400)
        try:
            parsed = json.loads(text, parse_constant=_refuse_constant)
            json.dumps(parsed, ensure_ascii=False).encode()
        except ValueError as error:
            return JSONResponse({"error": {"message": f"invalid tool call arguments: {error}"}}, 400)
        if not isinstance(parsed, dict):
            return JSONResponse({"error": {"message": "tool call arguments are no object"}}, 400)
    return None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _find_failure(reply: Scripted) -> Response | None:
    if reply.failure is not None:
        headers = {"retry-after-ms": "10"} if reply.failure == 429 else {}
        return JSONResponse({"error": {"message": reply.text or "out of order"}}, reply.failure, headers=headers)
    return None if reply.body is None else Response(reply.body, media_type=reply.media_type)


def _write_completion(body: dict[str, Any], reply: Scripted, answered: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{answered}_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(reply.calls)
        ]
    if body["model"] == THINKING:
        message["reasoning_content"] = "look first"
    reason = reply.finish_reason or ("tool_calls" if reply.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [{"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}]}
    if body.get("return_token_ids"):
        choice["token_ids"] = [7, 8, 9]
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return {**head, "choices": [choice], "usage": usage}


def _stream_completion(completion: dict[str, Any]) -> Response:
    """The same completion in one chunk, then its end, as a client that asks for a stream expects."""
    head = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    message, reason = completion["choices"][0]["message"], completion["choices"][0]["finish_reason"]
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls", []))]
    delta = {**message, "tool_calls": calls} if calls else message
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**head, "choices": [], "usage": completion["usage"]},
    ]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Response("".join([*lines, "data: [DONE]\n\n"]), media_type="text/event-stream")


def _write_response(body: dict[str, Any], reply: Scripted, answered: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.calls:
        output.append({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "look first"}]})
    if reply.text is not None:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content})
    output += [
        {"type": "function_call", "id": "f", "call_id": f"c{answered}_{index}", "name": name, "arguments": arguments}
        for index, (name, arguments) in enumerate(reply.calls)
    ]
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": body["model"],
        "status": _STATUSES.get(reply.finish_reason, "completed"),
        "incomplete_details": {"reason": "max_output_tokens"} if reply.finish_reason == "length" else None,
        "output": output,
        "usage": {**_TOKENS, "total_tokens": 110, **details},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _write_message(body: dict[str, Any], reply: Scripted, answered: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "look first", "signature": "s"}]
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, (name, arguments) in enumerate(reply.calls):
        parsed = _read_object(arguments)
        content.append({"type": "tool_use", "id": f"toolu_{answered}_{index}", "name": name, "input": parsed})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "max_tokens" if reply.finish_reason == "length" else "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": _TOKENS,
    }


def _read_object(arguments: str) -> Any:
    """Anthropic's protocol writes arguments as a value; text that is no JSON is a text then."""
    try:
        parsed = json.loads(arguments or "{}", parse_constant=_refuse_constant)
        json.dumps(parsed, ensure_ascii=False).encode()
    except ValueError:
        return arguments
    return parsed


def _text_of(content: Any) -> str:
    return "\n".join(block.get("text", "") for block in _blocks_of(content))


def _blocks_of(content: Any) -> list[dict[str, Any]]:
    if content is None:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
