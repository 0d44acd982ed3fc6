"""Tags: of a ticket, and of the whole desk."""

from services.desk.operations import tickets
from services.desk.operations.records import Body
from services.kernel.statements import Row
from services.kernel.world import World

_COUNTED = "SELECT value, count(*) FROM ticket_links WHERE kind = 'tag' GROUP BY value ORDER BY count(*) DESC, value"


def replace(world: World, key: int, tags: list[str], author: Row) -> list[str]:
    return _retagged(world, key, {"tags": tags}, author)


def add(world: World, key: int, tags: list[str], author: Row) -> list[str]:
    return _retagged(world, key, {"additional_tags": tags}, author)


def remove(world: World, key: int, tags: list[str], author: Row) -> list[str]:
    return _retagged(world, key, {"remove_tags": tags}, author)


def counted(world: World) -> list[Body]:
    """Every tag on tickets with how often it is used, the most used first."""
    return [{"name": name, "count": count} for name, count in world.rows(_COUNTED)]


def _retagged(world: World, key: int, given: Body, author: Row) -> list[str]:
    tickets.update(world, key, given, author)
    tags: list[str] = tickets.read(world, key)["body"]["tags"]
    return tags
