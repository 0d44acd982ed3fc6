"""The workspace API's bodies."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Lenient(BaseModel):
    """Clients of several versions speak to one server: what it does not know it leaves."""

    model_config = ConfigDict(extra="ignore")


class SandboxIn(Lenient):
    """A sandbox to create."""

    name: str | None = Field(default=None, max_length=100)
    env: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class LabelsIn(Lenient):
    """Labels in place of those there are."""

    labels: dict[str, str]


class SandboxOut(BaseModel):
    """One sandbox."""

    id: str
    organizationId: str
    name: str
    user: str
    env: dict[str, str]
    labels: dict[str, str]
    public: bool
    networkBlockAll: bool
    kvm: bool
    target: str
    cpu: float
    gpu: float
    memory: float
    disk: float
    state: str
    toolboxProxyUrl: str


class SandboxPage(BaseModel):
    """Some sandboxes."""

    items: list[SandboxOut]
    nextCursor: str | None
    total: int


class ExecuteIn(Lenient):
    """A line for a shell."""

    command: str = Field(min_length=1, max_length=1 << 20)
    cwd: str | None = None
    envs: dict[str, str] | None = None
    timeout: float | None = None


class CodeIn(Lenient):
    """A program's text."""

    code: str = Field(max_length=1 << 20)
    language: str = "python"
    argv: list[str] | None = None
    envs: dict[str, str] | None = None
    timeout: float | None = None


class Executed(BaseModel):
    """How it ended and what it said."""

    exitCode: int
    result: str


class CodeRan(Executed):
    """How it ended and what it said and drew."""

    artifacts: dict[str, Any]


class SessionIn(Lenient):
    """A session to open."""

    sessionId: str


class SessionExecuteIn(Lenient):
    """A line for a session."""

    command: str = Field(min_length=1, max_length=1 << 20)
    runAsync: bool | None = None
    async_: bool | None = Field(default=None, alias="async")


class InputIn(Lenient):
    """What a running command is to read."""

    data: str


class SessionRan(BaseModel):
    """A command of a session; without an exit code while it runs."""

    cmdId: str
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None


class CommandOut(BaseModel):
    """A command by its id."""

    id: str
    command: str
    exitCode: int | None = None


class SessionOut(BaseModel):
    """A session and what was run in it."""

    sessionId: str
    commands: list[CommandOut]


class LogsOut(BaseModel):
    """What a command said so far."""

    output: str
    stdout: str
    stderr: str


class TerminalIn(Lenient):
    """A terminal to open."""

    id: str | None = None
    cwd: str | None = None
    envs: dict[str, str] | None = None
    rows: int = Field(default=24, ge=1, le=1000)
    cols: int = Field(default=80, ge=1, le=1000)
    lazyStart: bool | None = None


class TerminalSizeIn(Lenient):
    """How large a terminal is to be."""

    rows: int = Field(ge=1, le=1000)
    cols: int = Field(ge=1, le=1000)


class TerminalCreated(BaseModel):
    """A terminal by its id."""

    sessionId: str


class TerminalOut(BaseModel):
    """A terminal and what it was opened with."""

    id: str
    active: bool
    createdAt: str
    cwd: str
    envs: dict[str, str]
    rows: int
    cols: int
    lazyStart: bool


class TerminalsOut(BaseModel):
    """Every terminal."""

    sessions: list[TerminalOut]


class FileOut(BaseModel):
    """One file or folder."""

    name: str
    path: str
    isDir: bool
    size: int
    mode: str
    permissions: str
    owner: str
    group: str
    modTime: str
    modifiedAt: str


class MatchOut(BaseModel):
    """One line that matched."""

    file: str
    line: int
    content: str


class FilesFound(BaseModel):
    """Paths that matched."""

    files: list[str]


class ReplaceIn(Lenient):
    """Text to replace in files."""

    files: list[str] = Field(max_length=1000)
    pattern: str
    newValue: str


class Replaced(BaseModel):
    """One file of a replacement."""

    file: str
    success: bool
    error: str | None = None


class PathsIn(Lenient):
    """Files to download."""

    paths: list[str] = Field(max_length=1000)


class DirOut(BaseModel):
    """A folder's path."""

    dir: str


class RepositoryIn(Lenient):
    """Where a working tree is."""

    path: str


class BranchIn(RepositoryIn):
    """A branch by name."""

    name: str


class CheckoutIn(RepositoryIn):
    """A branch or commit to go to."""

    branch: str


class AddIn(RepositoryIn):
    """Files to stage."""

    files: list[str]


class CommitIn(RepositoryIn):
    """A commit to make."""

    message: str
    author: str
    email: str
    allow_empty: bool | None = None


class PushIn(RepositoryIn):
    """Where to push."""

    set_upstream: bool | None = None
    remote: str | None = None
    branch: str | None = None


class CloneIn(RepositoryIn):
    """What to clone."""

    url: str
    branch: str | None = None
    commit_id: str | None = None


class RemoteIn(RepositoryIn):
    """A remote to add."""

    name: str
    url: str


class ResetIn(RepositoryIn):
    """How far to go back."""

    mode: str | None = None
    target: str | None = None


class RestoreIn(RepositoryIn):
    """Files to take back."""

    files: list[str]
    staged: bool | None = None
    source: str | None = None


class ConfigIn(Lenient):
    """One setting of git's."""

    key: str
    value: str
    path: str | None = None
    scope: str | None = None


class GitUserIn(Lenient):
    """Who commits."""

    name: str
    email: str
    path: str | None = None
    scope: str | None = None


class Position(Lenient):
    """A place in a text, from zero."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class ProjectIn(Lenient):
    """A language server's project."""

    languageId: str
    pathToProject: str


class DocumentIn(ProjectIn):
    """A file of a project."""

    uri: str


class CompletionIn(DocumentIn):
    """Where completions are wanted."""

    position: Position
