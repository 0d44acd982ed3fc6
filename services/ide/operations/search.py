"""The code host's search: code by its text, issues by their words."""

import re
from dataclasses import dataclass, field

from services.ide.operations import issues, repositories
from services.ide.rows import IssueRow, RepositoryRow
from services.kernel.world import World

_TERM = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')


@dataclass(slots=True)
class Query:
    """Words, and qualifiers such as `repo:owner/name`."""

    words: list[str] = field(default_factory=list)
    qualifiers: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Query":
        query = cls()
        for name, quoted, plain in _TERM.findall(text):
            if name:
                query.qualifiers.setdefault(name, []).append(quoted or plain)
            else:
                query.words.append(quoted or plain)
        return query

    def allows(self, name: str, value: str) -> bool:
        return name not in self.qualifiers or value in self.qualifiers[name]

    def allows_path(self, path: str) -> bool:
        return self.allows("path", path) or any(path.startswith(prefix) for prefix in self.qualifiers.get("path", []))


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A file that holds every word of a query."""

    repository: RepositoryRow
    path: str
    sha: str


async def find_code(world: World, text: str) -> list[CodeHit]:
    """Files on default branches that hold every word."""
    query = Query.parse(text)
    server = await repositories.git_server(world)
    hits: list[CodeHit] = []
    if not query.words:
        return hits
    words = [part for word in query.words for part in ("-e", word)]
    for repository in _repositories(world, query):
        branch = repository["default_branch"]
        result = await server.git(repository, "grep", "-l", "-z", "-i", "-F", "--all-match", *words, branch)
        paths = [name.partition(":")[2] for name in result.text.split("\0") if name]
        hits += [
            CodeHit(repository, path, (await server.entries(repository, branch, path))[0].sha)
            for path in filter(query.allows_path, paths)
        ]
    return hits


def find_issues(world: World, text: str) -> list[tuple[RepositoryRow, IssueRow]]:
    query = Query.parse(text)
    return [
        (repository, row)
        for repository in _repositories(world, query)
        for row in issues.list_issues(world, repository, "all")
        if _matches(query, row)
    ]


def _repositories(world: World, query: Query) -> list[RepositoryRow]:
    rows = repositories.list_all(world)
    return [row for row in rows if query.allows("repo", f"{row['owner']}/{row['name']}")]


def _matches(query: Query, row: IssueRow) -> bool:
    text = f"{row['title']}\n{row['body'] or ''}".lower()
    kind = "pr" if row["is_pull"] else "issue"
    states = [value for value in query.qualifiers.get("is", []) if value in ("pr", "issue", "open", "closed")]
    return (
        all(word.lower() in text for word in query.words)
        and all(value in (kind, row["state"]) for value in states)
        and query.allows("state", row["state"])
        and query.allows("type", kind)
        and query.allows("author", row["author"])
        and set(query.qualifiers.get("label", [])) <= set(row["labels"])
    )
