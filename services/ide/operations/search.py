"""The code host's search: code by its text, issues by their words."""

import re
from dataclasses import dataclass, field

from services.ide.operations import issues, repositories
from services.kernel.statements import Row
from services.kernel.world import World

_TERM = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')


@dataclass(slots=True)
class Query:
    """Words, and what qualifies them."""

    words: list[str] = field(default_factory=list)
    qualifiers: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "Query":
        query = cls()
        for name, quoted, plain in _TERM.findall(text):
            if name:
                query.qualifiers.setdefault(name, []).append(quoted or plain)
            else:
                query.words.append(quoted or plain)
        return query

    def wants(self, name: str, value: str) -> bool:
        return name not in self.qualifiers or value in self.qualifiers[name]


async def code(world: World, text: str) -> list[tuple[Row, str, str]]:
    """(repository, path, blob) of files on default branches that hold every word."""
    query = Query.of(text)
    forge = await repositories.forge(world)
    found: list[tuple[Row, str, str]] = []
    if not query.words:
        return found
    for repository in repositories.all_of(world):
        if not query.wants("repo", f"{repository['owner']}/{repository['name']}"):
            continue
        words = [part for word in query.words for part in ("-e", word)]
        ran = await forge.git(
            repository, "grep", "-l", "-z", "-i", "-F", "--all-match", *words, repository["default_branch"]
        )
        paths = [name.partition(":")[2] for name in ran.text.split("\0") if name]
        for path in paths:
            if query.wants("path", path) or any(path.startswith(one) for one in query.qualifiers.get("path", [])):
                sha = (await forge.entries(repository, repository["default_branch"], path))[0].sha
                found.append((repository, path, sha))
    return found


def find_issues(world: World, text: str) -> list[tuple[Row, Row]]:
    query = Query.of(text)
    found = []
    for repository in repositories.all_of(world):
        if query.wants("repo", f"{repository['owner']}/{repository['name']}"):
            found += [(repository, row) for row in issues.listed(world, repository, "all") if _matches(query, row)]
    return found


def _matches(query: Query, row: Row) -> bool:
    said = f"{row['title']}\n{row['body'] or ''}".lower()
    kind = "pr" if row["is_pull"] else "issue"
    wanted = [value for value in query.qualifiers.get("is", []) if value in ("pr", "issue", "open", "closed")]
    return (
        all(word.lower() in said for word in query.words)
        and all(value in (kind, row["state"]) for value in wanted)
        and query.wants("state", row["state"])
        and query.wants("type", kind)
        and query.wants("author", row["author"])
        and set(query.qualifiers.get("label", [])) <= set(row["labels"])
    )
