"""Control as a process."""

import uvloop

from services.control.app import create_api
from services.control.control import create_control, start_control, stop_control
from services.control.middleware import ControlMiddleware
from services.control.people.app import PeoplePages
from services.control.problems import LedgerDown
from services.kernel.config import BadSetting, Settings
from services.kernel.file_limit import raise_file_limit
from services.kernel.logs import start_logging
from services.kernel.serve import KEEP_ALIVE_SECONDS, listener, serve_all


async def serve(settings: Settings) -> None:
    control = create_control(settings)
    try:
        watching = await start_control(control)
    except LedgerDown as error:
        raise BadSetting(f"control cannot start: {error}") from error
    app = PeoplePages(ControlMiddleware(create_api(control), settings.control_token, control.telemetry), control)
    try:
        await serve_all(listener(app, settings.host, settings.control_port, timeout_keep_alive=KEEP_ALIVE_SECONDS))
    finally:
        await stop_control(control, watching)


def run_control(settings: Settings) -> None:
    start_logging(settings.log_level)
    raise_file_limit()
    uvloop.run(serve(settings))
