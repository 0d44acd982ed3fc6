"""The console as a process."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

import uvloop
from dayshift.viewer.security import LOCAL_HOSTS

from services.console.app import Console, ConsoleSettings
from services.kernel import catalog
from services.kernel.config import BadSetting, Settings, reachable_host
from services.kernel.logs import start_logging
from services.kernel.serve import listener, serve_all
from services.snippets import CONSOLE, CONSOLE_PORT


def console_settings(settings: Settings) -> ConsoleSettings:
    control = settings.addresses.get(("control", "URL"))
    name = urlsplit(settings.console_url).hostname
    if settings.console_url and name is None:
        raise BadSetting(f"DAYSHIFT_CONSOLE_URL={settings.console_url!r} is not a URL")
    if missing := next((folder for folder in settings.recordings if not folder.exists()), None):
        raise BadSetting(f"DAYSHIFT_RECORDINGS names {missing}, which does not exist")
    return ConsoleSettings(
        control_url=control or f"http://{reachable_host(settings.host)}:{settings.control_port}",
        control_token=settings.control_token,
        harness_token=settings.harness_token,
        console_token=settings.console_token,
        ledger_url=settings.ledger_url or f"sqlite:///{settings.var / 'ledger.sqlite'}",
        folder=settings.var / CONSOLE,
        recordings=settings.recordings,
        hosts=LOCAL_HOSTS | ({name} if name else frozenset()),
        product_urls={each: settings.url(each, catalog.product(each).port) for each in catalog.names()},
    )


async def serve(settings: Settings) -> None:
    console = Console(console_settings(settings))
    following = asyncio.create_task(console.keep_up())
    try:
        await serve_all(listener(console.app, settings.harness_host, settings.port(CONSOLE, CONSOLE_PORT)))
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await console.close()


def run_console(settings: Settings) -> None:
    start_logging(settings.log_level)
    uvloop.run(serve(settings))
