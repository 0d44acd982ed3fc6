"""Control as a process."""

import uvloop

from services.control.app import create_api
from services.control.control import put_to_rest, put_together, watched
from services.control.door import ControlApp
from services.control.problems import LedgerDown
from services.kernel.config import BadSetting, Settings
from services.kernel.serve import THINKING_SECONDS, listener, serve_all
from services.kernel.telemetry import start_logging


async def serve(settings: Settings) -> None:
    control = put_together(settings)
    try:
        watching = await watched(control)
    except LedgerDown as error:
        raise BadSetting(f"control cannot start: {error}") from error
    app = ControlApp(create_api(control), settings.control_token, control.telemetry)
    try:
        await serve_all(listener(app, settings.host, settings.control_port, timeout_keep_alive=THINKING_SECONDS))
    finally:
        await put_to_rest(control, watching)


def run_control(settings: Settings) -> None:
    start_logging(settings.log_level)
    uvloop.run(serve(settings))
