"""
The IDE's refusals. Three protocols share one service; each answers in the words of its vendor.

Refusal
├── NotFound               404  no such file, session, sandbox, repository, issue …
├── Conflict               409  it exists already, or is not in the state for that
├── Forbidden              403  a protected branch, a path that the operating system keeps
├── Unprocessable          422  the code host's Validation Failed, with its list of errors
├── NotMergeable           405  a pull request that may not be merged now
├── CommandTimedOut        408  a command was ended because its time was over
├── BadRequest             400  a request that cannot be carried out as it stands
└── RuntimeFailed          511  an exception that the remote runtime's client raises again
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from services.ide.sandbox.sandbox import GuestRefused
from services.kernel.answers import Answer
from services.kernel.errors import Failure, MalformedRequest, NoSuchRoute, RateLimited, Refusal, Unauthenticated
from services.kernel.product import RequestContext

_DOCS = "https://docs.github.com/rest"
_CODE_HOST = "/api/v3/"
_WORKSPACE_API = ("/api/", "/toolbox/")
_GIT_SERVICES = ("/info/refs", "/git-upload-pack", "/git-receive-pack")


class NotFound(Refusal):
    """Not Found"""

    status = 404


class Conflict(Refusal):
    """It exists already."""

    status = 409


class Forbidden(Refusal):
    """This is not allowed."""

    status = 403


class NotMergeable(Refusal):
    """Pull Request is not mergeable"""

    status = 405


class CommandTimedOut(Refusal):
    """The command took too long and was ended."""

    status = 408


class BadRequest(Refusal):
    """The request cannot be meant."""

    status = 400


class Unprocessable(Refusal):
    """Validation Failed"""

    status = 422

    def __init__(self, resource: str, message: str, field: str | None = None, code: str = "custom") -> None:
        super().__init__("Validation Failed")
        about = {"resource": resource, "code": code, "message": message}
        self.errors: list[dict[str, Any]] = [about if field is None else {**about, "field": field}]


class RuntimeFailed(Refusal):
    """An exception by the name of its class; only ever one of these, since the client imports what is named."""

    status = 511
    KNOWN: ClassVar[frozenset[str]] = frozenset(
        {
            "swerex.exceptions.NonZeroExitCodeError",
            "swerex.exceptions.CommandTimeoutError",
            "swerex.exceptions.BashIncorrectSyntaxError",
            "swerex.exceptions.SessionDoesNotExistError",
            "swerex.exceptions.SessionExistsError",
            "builtins.FileNotFoundError",
            "builtins.PermissionError",
            "builtins.IsADirectoryError",
            "builtins.UnicodeDecodeError",
            "builtins.OSError",
        }
    )

    def __init__(self, class_path: str, message: str, extra: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.class_path = class_path if class_path in self.KNOWN else "builtins.OSError"
        self.extra = extra or {}


_REFUSALS: dict[str, type[Refusal]] = {
    "FileNotFoundError": NotFound,
    "NotADirectoryError": NotFound,
    "KeyError": NotFound,
    "FileExistsError": Conflict,
    "PermissionError": Forbidden,
    "IsADirectoryError": BadRequest,
}


def explain_guest(refused: GuestRefused) -> Refusal:
    """The refusal of the operating system inside, in the words of the workspace API."""
    kind = _REFUSALS.get(refused.kind, BadRequest)
    words = str(refused)[:1].lower() + str(refused)[1:]
    return kind(f"{refused.path}: {words}" if refused.path else words)


def render(refusal: Refusal, context: RequestContext) -> Answer:
    path = context.path
    if isinstance(refusal, RuntimeFailed):
        return _render_runtime(refusal)
    if path.startswith(_CODE_HOST):
        return _render_code_host(refusal)
    if path.endswith(_GIT_SERVICES):
        return _render_git(refusal)
    if path.startswith(_WORKSPACE_API):
        return _render_workspace_api(refusal, context)
    if isinstance(refusal, Failure):
        # What the runtime's own server sends for an exception that nobody caught.
        return Answer(500, refusal.message.encode(), ((b"content-type", b"text/plain; charset=utf-8"),))
    return Answer.json(refusal.status, {"detail": refusal.message}, refusal.headers)


def _render_workspace_api(refusal: Refusal, context: RequestContext) -> Answer:
    message = "Invalid credentials" if isinstance(refusal, Unauthenticated) else refusal.message
    code = "INTERNAL_SERVER_ERROR" if isinstance(refusal, Failure) else type(refusal).__name__.upper()
    source = "DAYTONA_DAEMON" if context.path.startswith("/toolbox/") else "DAYTONA_API"
    body = {
        "statusCode": refusal.status,
        "message": "Internal server error" if isinstance(refusal, Failure) else message,
        "code": code,
        "source": source,
        "path": context.path,
        "method": context.method,
    }
    return Answer.json(refusal.status, body, refusal.headers)


def _render_code_host(refusal: Refusal) -> Answer:
    body: dict[str, Any] = {"message": refusal.message, "documentation_url": _DOCS}
    status = refusal.status
    match refusal:
        case Unauthenticated():
            body["message"] = "Bad credentials"
        case NoSuchRoute():
            body["message"] = "Not Found"
        case RateLimited():
            # 429, which the code host sends as well as 403: nobody takes it for a missing right.
            body["message"] = "API rate limit exceeded"
        case Unprocessable():
            body["errors"] = refusal.errors
        case MalformedRequest() if refusal.problems:
            status = 422
            body |= {"message": "Invalid request.", "errors": _problems(refusal.problems)}
        case MalformedRequest():
            body["message"] = "Problems parsing JSON"
        case Failure():
            body["message"] = "Server Error"
    return Answer.json(status, body, refusal.headers)


def _problems(problems: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {"field": problem.where.removeprefix("body."), "code": "invalid", "message": problem.message}
        for problem in problems[:20]
    ]


def _render_git(refusal: Refusal) -> Answer:
    """git sends its first request without a credential; the answer says which kind to send."""
    text = "Repository not found." if refusal.status == 404 else refusal.message
    headers: list[tuple[bytes, bytes]] = [(b"content-type", b"text/plain; charset=utf-8")]
    if isinstance(refusal, Unauthenticated):
        headers.append((b"www-authenticate", b'Basic realm="Git"'))
    headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    return Answer(refusal.status, text.encode(), tuple(headers))


def _render_runtime(refusal: RuntimeFailed) -> Answer:
    about = {"message": refusal.message, "class_path": refusal.class_path, "traceback": "", "extra_info": refusal.extra}
    return Answer.json(511, {"swerexception": about})
