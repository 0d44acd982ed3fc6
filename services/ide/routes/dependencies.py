"""What routes declare: rows that their path names, the page of a list, and the serializer of a request."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request

from services.ide.code_host.git_server import Commit
from services.ide.operations import issues, pulls, repositories, sandboxes
from services.ide.operations.pulls import Pull
from services.ide.routes.serializers import RepositorySerializer, Serializer
from services.ide.rows import IssueRow, RepositoryRow, SandboxRow
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

Item = TypeVar("Item")
_LARGEST_PAGE = 100


# --- the workspace API ------------------------------------------------------------------------------------------------


def find_sandbox(sandboxId: str, world: CurrentWorld) -> SandboxRow:
    return sandboxes.find(world, sandboxId)


def find_named_sandbox(sandboxIdOrName: str, world: CurrentWorld) -> SandboxRow:
    return sandboxes.find(world, sandboxIdOrName)


CurrentSandbox = Annotated[SandboxRow, Depends(find_sandbox)]
NamedSandbox = Annotated[SandboxRow, Depends(find_named_sandbox)]


def toolbox_router() -> APIRouter:
    """For paths below `/toolbox/{sandboxId}`: a request for a sandbox that does not exist is refused."""
    return product_router(dependencies=[Depends(find_sandbox)])


# --- the code host ----------------------------------------------------------------------------------------------------


def find_repository(owner: str, repo: str, world: CurrentWorld) -> RepositoryRow:
    return repositories.find(world, owner, repo)


Repository = Annotated[RepositoryRow, Depends(find_repository)]


def find_issue(number: int, repository: Repository, world: CurrentWorld) -> IssueRow:
    return issues.find(world, repository, number)


async def find_pull(number: int, repository: Repository, world: CurrentWorld) -> Pull:
    return await pulls.find(world, repository, number)


async def find_commit(ref: str, repository: Repository, world: CurrentWorld) -> Commit:
    return await repositories.find_commit(world, repository, ref)


def make_serializer(request: Request, world: CurrentWorld) -> Serializer:
    return Serializer(_root_url(request), world)


def make_repository_serializer(request: Request, repository: Repository, world: CurrentWorld) -> RepositorySerializer:
    return RepositorySerializer(_root_url(request), world, repository)


def _root_url(request: Request) -> str:
    return str(request.base_url).rstrip("/")


Issue = Annotated[IssueRow, Depends(find_issue)]
PullRequest = Annotated[Pull, Depends(find_pull)]
CommitOfRef = Annotated[Commit, Depends(find_commit)]
CodeHostJson = Annotated[Serializer, Depends(make_serializer)]
RepositoryJson = Annotated[RepositorySerializer, Depends(make_repository_serializer)]


class Page:
    """The page of a list that a request asks for."""

    def __init__(
        self,
        request: Request,
        page: Annotated[int, Query(ge=1, le=10**6)] = 1,
        per_page: Annotated[int, Query(ge=1, le=10**6)] = 30,
    ) -> None:
        self._request = request
        self._number = page
        self._size = min(per_page, _LARGEST_PAGE)

    def respond(self, items: Sequence[Item], serialize: Callable[[Item], dict[str, Any]]) -> Json:
        return Json([serialize(item) for item in self._cut(items)], headers=self._links(len(items)))

    def respond_to_search(self, items: Sequence[Item], serialize: Callable[[Item], dict[str, Any]]) -> Json:
        serialized = [serialize(item) for item in self._cut(items)]
        body = {"total_count": len(items), "incomplete_results": False, "items": serialized}
        return Json(body, headers=self._links(len(items)))

    def _cut(self, items: Sequence[Item]) -> Sequence[Item]:
        return items[(self._number - 1) * self._size : self._number * self._size]

    def _links(self, count: int) -> dict[str, str]:
        """The other pages, in a Link header with absolute addresses."""
        last = max(1, -(-count // self._size))
        pages = [(self._number - 1, "prev"), (1, "first")] if self._number > 1 else []
        pages += [(self._number + 1, "next"), (last, "last")] if self._number < last else []
        header = ", ".join(f'<{self._url(number)}>; rel="{name}"' for number, name in pages)
        return {"link": header} if header else {}

    def _url(self, number: int) -> str:
        query = [(name, value) for name, value in self._request.query_params.multi_items() if name != "page"]
        return f"{_root_url(self._request)}{self._request.url.path}?{urlencode([*query, ('page', number)])}"


CurrentPage = Annotated[Page, Depends(Page)]
