"""The remote runtime's bodies."""

from typing import Literal

from pydantic import Field

from services.ide.schemas.toolbox import Lenient


class CreateSessionIn(Lenient):
    """A shell to open."""

    session: str = "default"
    session_type: Literal["bash"] = "bash"
    startup_source: list[str] = Field(default_factory=list)
    startup_timeout: float = 1.0


class ActionIn(Lenient):
    """Something to do in a session."""

    action_type: Literal["bash", "bash_interrupt"] = "bash"
    session: str = "default"
    command: str = Field(default="", max_length=1 << 20)
    timeout: float | None = None
    is_interactive_command: bool = False
    is_interactive_quit: bool = False
    check: Literal["raise", "silent", "ignore"] = "raise"
    error_msg: str = ""
    expect: list[str] = Field(default_factory=list)
    n_retry: int = 3


class CloseSessionIn(Lenient):
    """A shell to close."""

    session: str = "default"


class CommandIn(Lenient):
    """A program to run."""

    command: str | list[str]
    timeout: float | None = None
    shell: bool = False
    check: bool = False
    error_msg: str = ""
    env: dict[str, str] | None = None
    cwd: str | None = None
    merge_output_streams: bool = False


class ReadIn(Lenient):
    """A file to read."""

    path: str
    encoding: str | None = None
    errors: str | None = None


class WriteIn(Lenient):
    """A file to write."""

    path: str
    content: str
