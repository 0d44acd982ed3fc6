"""Checks of records that the agent creates: they are found by domain and address, since no task knows their ids."""

from services.desk.records.people import find_by_email, is_staff
from services.desk.rows.people import OrganizationRow
from services.desk.tables import organizations
from services.kernel.checks import Check, Finding
from services.kernel.world import World


class OrganizationKnown(Check):
    """Exactly one organization has this domain, with one of these names and external ids."""

    domain: str
    names: tuple[str, ...] = ()
    # None accepts any; an empty tuple accepts none.
    external_ids: tuple[str, ...] | None = None

    def run(self, world: World) -> Finding:
        owners = find_by_domain(world, self.domain)
        if len(owners) != 1:
            return self.fails(f"{len(owners)} organizations have the domain {self.domain}")
        body = owners[0]["body"]
        if self.names and _fold(body["name"]) not in map(_fold, self.names):
            return self.fails(f"the organization of {self.domain} is called {body['name']!r}")
        if self.external_ids is not None and body["external_id"] not in self.external_ids:
            return self.fails(f"the organization of {self.domain} points to {body['external_id']!r}")
        return self.holds(f"the desk knows {body['name']} by {self.domain}")


class EndUserKnown(Check):
    """An end user with this address is there and belongs to the organization of this domain."""

    email: str
    domain: str

    def run(self, world: World) -> Finding:
        user = find_by_email(world, self.email)
        if user is None or is_staff(user):
            return self.fails(f"no end user has {self.email}")
        home = user["body"]["organization_id"]
        if home not in [row["id"] for row in find_by_domain(world, self.domain)]:
            return self.fails(f"{self.email} does not belong to {self.domain}")
        return self.holds(f"{self.email} is an end user of {self.domain}")


def find_by_domain(world: World, domain: str) -> list[OrganizationRow]:
    wanted = domain.casefold()
    return [row for row in organizations.find(world) if wanted in row["body"]["domain_names"]]


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()
