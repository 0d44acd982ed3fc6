"""Who was entered at the desk anew, found by domain and address: nobody knows their ids beforehand."""

from services.desk.operations import callers, listing
from services.desk.tables import organizations
from services.kernel.checks import Check, Finding
from services.kernel.statements import Row
from services.kernel.world import World


class OrganizationKnown(Check):
    """Exactly one organization has this domain, with one of these names and external ids."""

    domain: str
    names: tuple[str, ...] = ()
    # Any, unless some are given; of none at all, none is right.
    external_ids: tuple[str, ...] | None = None

    def ask(self, world: World) -> Finding:
        found = of_domain(world, self.domain)
        if len(found) != 1:
            return self.failed(f"{len(found)} organizations have the domain {self.domain}")
        body = found[0]["body"]
        if self.names and _folded(body["name"]) not in map(_folded, self.names):
            return self.failed(f"the organization of {self.domain} is called {body['name']!r}")
        if self.external_ids is not None and body["external_id"] not in self.external_ids:
            return self.failed(f"the organization of {self.domain} points to {body['external_id']!r}")
        return self.held(f"the desk knows {body['name']} by {self.domain}")


class EndUserKnown(Check):
    """An end user with this address is there and belongs to the organization of this domain."""

    email: str
    domain: str

    def ask(self, world: World) -> Finding:
        user = callers.by_email(world, self.email)
        if user is None or callers.is_staff(user):
            return self.failed(f"no end user has {self.email}")
        home = user["body"]["organization_id"]
        if home not in [row["id"] for row in of_domain(world, self.domain)]:
            return self.failed(f"{self.email} does not belong to {self.domain}")
        return self.held(f"{self.email} is an end user of {self.domain}")


def of_domain(world: World, domain: str) -> list[Row]:
    wanted = domain.casefold()
    return [row for row in listing.every(world, organizations) if wanted in row["body"]["domain_names"]]


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
