"""Work at the IDE: issues, files and commands; each write is read again in another way."""

from collections.abc import Mapping
from typing import Any, ClassVar

from loadtests.calls import ConsistencyViolation, Response
from loadtests.workers.worker import Activity, Exchanges, Worker

_NOTES = "/home/dev/notes.txt"


class IdeWorker(Worker):
    """One programmer; what is listed are repositories."""

    product = "ide"
    watched: ClassVar = ("title", "state")

    def _activities(self) -> Mapping[Activity, int]:
        """Commands take a process each; most of a day is reading. An account without repositories has no issues."""
        on_files = {self._write_and_read_file: 1, self._run_command: 1}
        if not self._listed:
            return on_files
        return {self._read_issues: 10, self._update: 4, self._create: 1, **on_files}

    def _browse(self) -> Exchanges:
        response = yield self._get("repositories", "/api/v3/user/repos")
        self._list([repository["full_name"] for repository in response.json()])

    def _read_issues(self) -> Exchanges:
        repository = self._pick()
        response = yield self._get("issues", f"{_issues_of(repository)}?state=all")
        self._check_issues(response, repository, response.json())

    def _create(self) -> Exchanges:
        repository = self._pick()
        values = {"title": self._new_title()}
        response = yield self._call("create", "POST", _issues_of(repository), values, 201)
        yield from self._read_again(response, repository, {**values, "state": "open"})

    def _update(self) -> Exchanges:
        repository = self._pick()
        listed = yield self._get("issues", f"{_issues_of(repository)}?state=all")
        if not listed.json():
            return
        number = self._chance.choice(listed.json())["number"]
        values = {"title": self._new_title(), "state": self._chance.choice(("open", "closed"))}
        response = yield self._call("update", "PATCH", f"{_issues_of(repository)}/{number}", values)
        yield from self._read_again(response, repository, values)

    def _read_again(self, answer: Response, repository: str, values: dict[str, str]) -> Exchanges:
        number = answer.json()["number"]
        issue_id = f"{repository}/{number}"
        self._record_write(answer, {issue_id: values})
        response = yield self._get("get", f"{_issues_of(repository)}/{number}")
        self._check_issues(response, repository, [response.json()], issue_id)

    def _write_and_read_file(self) -> Exchanges:
        text = self._new_title()
        yield self._call("write", "POST", "/write_file", {"path": _NOTES, "content": text})
        response = yield self._call("read", "POST", "/read_file", {"path": _NOTES})
        content = response.json()["content"]
        if content != text:
            raise ConsistencyViolation(f"{_NOTES} holds {content!r} but {text!r} was written")
        self._check_revision(response)

    def _run_command(self) -> Exchanges:
        response = yield self._call("execute", "POST", "/execute", {"command": "ls", "shell": True})
        self._check_revision(response)

    def _new_title(self) -> str:
        return f"Look into {self._episode[-6:]} {self._count_write()}"

    def _check_issues(
        self, response: Response, repository: str, issues: list[Any], expected_id: str | None = None
    ) -> None:
        self._check(response, {f"{repository}/{issue['number']}": issue for issue in issues}, expected_id)


def _issues_of(repository: str) -> str:
    return f"/api/v3/repos/{repository}/issues"
