"""Checks of work that belongs on a branch: what it must take over from another one, and what it must leave there."""

from fractions import Fraction

from pydantic import Field

from services.ide.grading.judged_tree import BranchWork, find_branch_trees, is_ancestor, read_commit
from services.kernel.checks import Check, Finding
from services.kernel.world import World

# Shorter lines, such as `return result`, stand anywhere.
_TELLING = 12


class BranchCheck(Check):
    """A check of a branch's work against one commit of another branch."""

    # The repository's root below home, and the paths that the commit changes.
    root: str
    branch: BranchWork
    commit: str
    paths: tuple[str, ...] = Field(repr=False)

    async def own_lines(self, world: World, start: dict[str, bytes]) -> set[str]:
        """Lines that the commit has and the start has not."""
        other = await read_commit(world, self.root, self.commit)
        own: set[str] = set()
        for path in self.paths:
            place = f"{self.root.rstrip('/')}/{path}"
            own |= _telling_lines(other.get(place)) - _telling_lines(start.get(place))
        return own


class LeavesCommitOut(BranchCheck):
    """The work has neither the commit in its history nor more than so many of the lines that only the commit has."""

    most: int = Field(default=20, ge=0)

    async def run(self, world: World) -> Finding:
        trees = await find_branch_trees(world, self.root, self.branch)
        if trees.commit != self.branch.start and await is_ancestor(world, self.root, self.commit, trees.commit):
            return self.fails(f"the work has {self.commit[:9]} in its history")
        own = await self.own_lines(world, dict(trees.start))
        copied = set().union(*(_telling_lines(content) for content in trees.judged.files.values())) & own
        # Lines that other files of the start have are nobody's.
        copied -= set().union(*(_telling_lines(content) for content in trees.start.values()))
        if len(copied) > self.most:
            return self.fails(f"the work takes over {len(copied)} lines of {self.commit[:9]}")
        return self.holds(f"nothing of {self.commit[:9]} is taken over")


class KeepsCommit(BranchCheck):
    """A branch that was worked on has the commit in its history, and nearly all of the lines that came with it."""

    # Of the lines at least this share.
    share: Fraction = Field(default=Fraction(4, 5), gt=0, le=1)
    # Where the two branches parted: lines that the commit has and this one has not came with it.
    before: str

    async def run(self, world: World) -> Finding:
        trees = await find_branch_trees(world, self.root, self.branch)
        if trees.commit == self.branch.start:
            return self.holds("the branch is as it was")
        if not await is_ancestor(world, self.root, self.commit, trees.commit):
            return self.fails(f"the branch does not have {self.commit[:9]} in its history")
        own = await self.own_lines(world, await read_commit(world, self.root, self.before))
        prefix = self.root.rstrip("/")
        held = set().union(*(_telling_lines(trees.judged.files.get(f"{prefix}/{path}")) for path in self.paths))
        if len(own & held) < self.share * len(own):
            return self.fails(f"{len(own - held)} of {len(own)} lines that came with it are gone")
        return self.holds(f"the branch has {self.commit[:9]} and what came with it")


def _telling_lines(content: bytes | None) -> set[str]:
    lines = (line.strip() for line in (content or b"").decode(errors="replace").splitlines())
    return {line for line in lines if len(line) >= _TELLING}
