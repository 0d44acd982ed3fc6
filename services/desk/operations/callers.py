"""Who is asking: a member of staff with the account's token, or an end user."""

from services.desk.operations import listing, records
from services.desk.operations.listing import Order, equal
from services.desk.tables import ACCOUNT, account, identities, users
from services.kernel.errors import Unauthenticated
from services.kernel.statements import Row
from services.kernel.world import World

END_USER = "end-user"


def caller(world: World, email: str | None) -> Row:
    """The account's own agent, or the member of staff whose address comes with the token; never an end user."""
    if world.visitor is not None:
        return records.known(world, users, world.visitor)
    row = agent_of(world) if email is None else by_email(world, email)
    if row is None or not is_staff(row) or not row["body"]["active"]:
        raise Unauthenticated
    return row


def agent_of(world: World) -> Row:
    return records.known(world, users, records.known(world, account, ACCOUNT)["body"]["agent_id"])


def is_staff(user: Row) -> bool:
    role: str = user["body"]["role"]
    return role != END_USER


def by_email(world: World, email: str) -> Row | None:
    """By any of a person's addresses."""
    found = listing.every(world, identities, equal(value_folded=email.strip().casefold(), type="email"), Order())
    for identity in found:
        user = world.get(users, identity["body"]["user_id"])
        if user is not None and user["body"]["active"]:
            return user
    return None
