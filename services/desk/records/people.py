"""Who somebody is: the caller of a request, a member of staff, the owner of an address."""

from typing import Final

from services.desk.rows import UserId
from services.desk.rows.people import UserRow
from services.desk.tables import ACCOUNT, account, identities, users
from services.kernel.documents import equal
from services.kernel.errors import Unauthenticated
from services.kernel.world import World

END_USER: Final = "end-user"


def identify_caller(world: World, email: str | None) -> UserRow:
    """Returns the account's own agent, or the member of staff whose address comes with the token; never an end user."""
    if world.acting_user is not None:
        return users.must_exist(world, UserId(world.acting_user))
    row = get_account_agent(world) if email is None else find_by_email(world, email)
    if row is None or not is_staff(row) or not row["body"]["active"]:
        raise Unauthenticated
    return row


def get_account_agent(world: World) -> UserRow:
    return users.must_exist(world, account.must_exist(world, ACCOUNT)["body"]["agent_id"])


def is_staff(user: UserRow) -> bool:
    return user["body"]["role"] != END_USER


def find_by_email(world: World, email: str) -> UserRow | None:
    """Finds an active user by any of their addresses."""
    for identity in identities.find(world, equal(value_folded=email.strip().casefold(), type="email")):
        user: UserRow | None = world.get(users, identity["body"]["user_id"])
        if user is not None and user["body"]["active"]:
            return user
    return None
