"""`dayshift view` shows recordings in a browser; `dayshift share` writes some of them into one HTML file."""

import argparse
import getpass
import socket
import threading
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from dayshift.errors import MissingExtra, UsageError
from dayshift.viewer.recordings_source import RecordingsSource

_DEFAULT_FOLDER = "runs"
_UPDATE_SECONDS = 5.0


def view(args: argparse.Namespace) -> int:
    """Serves the pages on this machine until it is stopped."""
    uvicorn = _import_uvicorn()
    from dayshift.review.store import RunReviewStore  # starlette is an extra, and so is what imports it
    from dayshift.viewer.app import ViewerOptions, create_app

    source = _open_source(args.runs)
    options = ViewerOptions(reviewer_of=lambda _request: args.reviewer or _user_name())
    app = create_app(source, reviews=RunReviewStore(source.folders, source.folder_of), options=options)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off"))
    # Bound here: uvicorn logs a failure in words of its own and ends the process.
    with _bind(args.port) as listening:
        threading.Thread(target=_keep_up, args=(source,), daemon=True).start()
        threading.Thread(target=_announce, args=(server, listening.getsockname()[1], args), daemon=True).start()
        server.run(sockets=[listening])
    return 0


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(f"the viewer cannot use port {port}: name another with --port") from error


def share(args: argparse.Namespace) -> int:
    """Writes the chosen episodes into one file."""
    from dayshift.review.store import RunReviewStore  # as above
    from dayshift.viewer.share import MAX_SHARED, render_share

    source = _open_source([args.run])
    source.update()
    summaries = source.select_summaries({"keys": args.episodes} if args.episodes else {})
    if not summaries and not args.episodes:
        raise UsageError(f"there is no readable episode in {args.run}")
    if missing := [key for key in args.episodes or () if key not in {summary["key"] for summary in summaries}]:
        raise UsageError(f"no episode of {args.run} is called {', '.join(missing)}; `dayshift view` lists them")
    if len(summaries) > MAX_SHARED:
        raise UsageError(
            f"{len(summaries)} episodes are too many for one file: name at most {MAX_SHARED} with --episodes"
        )
    read = [(summary, source.read_trajectory(summary["key"])) for summary in summaries]
    pairs = [(summary, trajectory) for summary, trajectory in read if trajectory is not None]
    store = RunReviewStore(source.folders, source.folder_of)
    reviews = store.reviews({summary["key"] for summary, _ in pairs})
    page = render_share(pairs, reviews, store.taxonomy(), title=source.title, redact=not args.raw)
    Path(args.output).write_text(page, encoding="utf-8")
    print(f"{args.output}: {len(pairs)} episodes, {'not redacted' if args.raw else 'redacted'}")
    return 0


def _open_source(runs: list[str]) -> RecordingsSource:
    return RecordingsSource(runs or [_DEFAULT_FOLDER])


def _keep_up(source: RecordingsSource) -> None:
    """Reads the recordings, and again what a run adds to them."""
    while True:
        # A file that vanished or is being replaced is read the next time.
        with suppress(OSError):
            source.update()
        time.sleep(_UPDATE_SECONDS)


def _announce(server: Any, port: int, args: argparse.Namespace) -> None:
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.02)
    url = f"http://127.0.0.1:{port}/"
    print(f"the viewer is at {url} (stop it with Ctrl+C)", flush=True)
    if args.open:
        webbrowser.open(url)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"


def _import_uvicorn() -> Any:
    try:
        import starlette  # noqa: F401 - an extra, as uvicorn is
        import uvicorn
    except ImportError as error:
        raise MissingExtra(error.name or "uvicorn", "view") from error
    return uvicorn
