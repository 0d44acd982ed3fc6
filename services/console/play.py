"""Players: people who work in an agent's place, with exactly what it was given."""

import secrets
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from dayshift.calls import SUBMIT, WAIT
from dayshift.discovery import build_catalogue, fetch_product_apis
from dayshift.episode_protocol import EpisodeProtocol
from dayshift.errors import HarnessFault, Unscored, UsageError
from dayshift.http_flow import HttpFlow
from dayshift.openapi import credential_headers, read_public_url
from dayshift.wire import Opened, OpenRequest, TakenOver, Verdict

from services.console.link import ControlLink

T = TypeVar("T")
_KEY_HEADER = "idempotency-key"
_MOST_PLAYERS = 64
_LONGEST_ANSWER = 200_000


@dataclass(frozen=True)
class _Player:
    person: str
    protocol: EpisodeProtocol
    # The agent counts its requests for their keys, and a person who counts anew must not repeat one.
    key_prefix: str = field(default_factory=lambda: secrets.token_hex(4))


class Players:
    """The people who play now, by episode. Credentials stay in the console and never reach a browser."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link
        self._players: dict[str, _Player] = {}

    async def take_over(self, episode_id: str, person: str) -> dict[str, Any]:
        player = self._players.get(episode_id)
        if player is None or player.person != person:
            if len(self._players) >= _MOST_PLAYERS:
                raise UsageError(f"{_MOST_PLAYERS} people play already")
            takeover = await self._link.run(self._link.address.control.take_over(episode_id, person))
            player = _Player(person, await self._link.run(self._join(takeover)))
            self._players[episode_id] = player
        return _describe(player.protocol)

    async def act(self, episode_id: str, person: str, action: dict[str, Any]) -> dict[str, Any]:
        """Makes one call as the agent would; `submit` and `wait` are calls as well."""
        player = self._players.get(episode_id)
        if player is None or player.person != person:
            raise UsageError("take the episode over first")
        if action.get("operation") == SUBMIT:
            return await self._submit(episode_id, player.protocol, action)
        step = await self._link.run(_with_own_keys(player.protocol.act(action), player.key_prefix))
        return {"status": step.status, "answer": step.body.decode("utf-8", "replace")[:_LONGEST_ANSWER]} | {
            "clock": step.clock,
            "verdict": None,
        }

    def forget(self, episode_id: str) -> None:
        self._players.pop(episode_id, None)

    async def _submit(self, episode_id: str, protocol: EpisodeProtocol, action: dict[str, Any]) -> dict[str, Any]:
        arguments = action.get("arguments") or {}
        try:
            verdict: Verdict = await self._link.run(protocol.submit(arguments.get("answer")))
        except Unscored as unscored:
            verdict = unscored.verdict
        finally:
            if protocol.over:
                self.forget(episode_id)
        return {"status": 200, "answer": "", "clock": verdict.clock, "verdict": verdict.model_dump(mode="json")}

    def _join(self, takeover: TakenOver) -> HttpFlow[EpisodeProtocol]:
        opened = Opened(
            episode_id=takeover.episode_id,
            task=takeover.task,
            seed=0,
            brief=takeover.brief,
            budget=takeover.budget,
            products={name: self._link.reachable(access) for name, access in takeover.products.items()},
            fingerprint="",
            clock=takeover.clock,
            answer_schema=takeover.answer_schema,
        )
        return join(self._link, OpenRequest(task=takeover.task), opened)


def _with_own_keys(flow: HttpFlow[T], prefix: str) -> HttpFlow[T]:
    """Sends the flow's requests with idempotency keys that nobody else uses."""
    try:
        request = next(flow)
        while True:
            key = request.headers.get(_KEY_HEADER)
            if key is not None:
                request = replace(request, headers={**request.headers, _KEY_HEADER: f"{prefix}-{key}"})
            try:
                response = yield request
            except HarnessFault as fault:
                request = flow.throw(fault)
            else:
                request = flow.send(response)
    except StopIteration as stop:
        result: T = stop.value
        return result


def join(link: ControlLink, request: OpenRequest, opened: Opened) -> HttpFlow[EpisodeProtocol]:
    """The client's side of an episode that somebody else has opened."""
    apis = yield from fetch_product_apis(opened.products)
    public_urls = {name: read_public_url(apis[name].document) for name in opened.products}
    headers = {
        name: {
            **credential_headers(apis[name].document, access.credential),
            **host_header(public_urls[name]),
        }
        for name, access in opened.products.items()
    }
    catalogue = build_catalogue(opened.products, apis, opened.answer_schema)
    return EpisodeProtocol(
        link.address.control, request, opened, catalogue, headers, clock=opened.clock, public_urls=public_urls
    )


def host_header(public_url: str) -> dict[str, str]:
    """Products build links from the host that they are called by."""
    host = public_url.partition("://")[2].partition("/")[0]
    return {"host": host} if host else {}


def _describe(protocol: EpisodeProtocol) -> dict[str, Any]:
    surface = protocol.require_surface()
    return {
        "episode_id": protocol.opened.episode_id,
        "brief": protocol.opened.brief,
        "budget": None if protocol.opened.budget is None else protocol.opened.budget.model_dump(),
        "answer_schema": protocol.opened.answer_schema,
        "tools": [
            {
                "name": tool["function"]["name"],
                "description": tool["function"]["description"],
                "parameters": tool["function"]["parameters"],
            }
            for tool in surface.openai_tools()
        ],
        "operations": sorted(protocol.operations),
        "special": [WAIT, SUBMIT],
    }
