"""The console as an ASGI application: sign-in in front of the viewer's pages, over the ledger."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import sqlalchemy as sa
from dayshift.viewer.app import CAPABILITIES, ViewerOptions, create_app
from dayshift.viewer.recordings_source import RecordingsSource
from dayshift.viewer.security import LOCAL_HOSTS
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from services.console.link import ControlLink
from services.console.live_api import LiveApi
from services.console.login import Sessions, SignIn
from services.console.mirror import LedgerMirror
from services.console.play import Players
from services.console.replay import Replayer
from services.console.replay_api import ReplayApi
from services.console.review_store import LedgerReviewStore

_log = logging.getLogger("dayshift.console")
_UPDATE_SECONDS = 2.0


@dataclass(frozen=True)
class ConsoleSettings:
    """What the console needs to know."""

    control_url: str
    control_token: str = field(repr=False)
    harness_token: str = field(repr=False)
    console_token: str = field(repr=False)
    ledger_url: str = field(repr=False)
    folder: Path
    # Folders of recordings that are shown beside the ledger.
    recordings: Sequence[Path] = ()
    hosts: frozenset[str] = LOCAL_HOSTS
    product_urls: dict[str, str] = field(default_factory=dict)


class Console:
    """The console's parts, and the task that keeps the mirror of the ledger up to date."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.link = ControlLink(settings.control_url, settings.control_token)
        self.sessions = Sessions(settings.console_token)
        self.mirror = LedgerMirror(settings.ledger_url, settings.folder)
        self.source = RecordingsSource([self.mirror.folder, *settings.recordings])
        self.source.kind = "ledger"
        self.source.title = "console"
        self.reviews = LedgerReviewStore(self.mirror.engine)
        live = LiveApi(self.link, settings.harness_token, self.sessions, Players(self.link))
        replays = ReplayApi(self.source, Replayer(self.link), settings.product_urls)
        pages = create_app(
            self.source,
            reviews=self.reviews,
            options=ViewerOptions(
                capabilities=(*CAPABILITIES, "live", "replay", "control"),
                hosts=settings.hosts,
                csrf_of=lambda request: self.sessions.require(request).csrf if self.sessions.find(request) else "",
                reviewer_of=lambda request: self.sessions.require(request).person,
            ),
            extra_routes=[
                Route("/assets/login.css", _serve_login_asset),
                Route("/assets/login.js", _serve_login_asset),
                *live.routes(),
                *replays.routes(),
            ],
        )
        self.app: ASGIApp = SignIn(pages, self.sessions, settings.hosts)

    async def keep_up(self) -> None:
        """Reads what the ledger has recorded since, in a thread; a ledger that is down is asked again."""
        while True:
            try:
                await asyncio.to_thread(self.update)
            except sa.exc.SQLAlchemyError as error:
                _log.warning("the ledger cannot be read", extra={"fields": {"because": type(error).__name__}})
            except Exception:  # noqa: BLE001 - without it no page would ever show a new episode
                _log.exception("the mirror of the ledger failed; it goes on")
            await asyncio.sleep(_UPDATE_SECONDS)

    def update(self) -> None:
        self.mirror.update()
        with suppress(OSError):
            self.source.update()

    async def close(self) -> None:
        await self.link.close()
        self.mirror.close()


async def _serve_login_asset(request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    content = (files("services.console") / "assets" / name).read_text(encoding="utf-8")
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    return Response(content, media_type=f"{kind}; charset=utf-8", headers={"cache-control": "no-cache"})
