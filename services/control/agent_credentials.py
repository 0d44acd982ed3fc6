"""AgentCredentials: which episode, and which of its products, a credential of an agent opens."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayshift.wire import AgentAccess, ProductAccess

from fixtures.tasks.known_solutions import load_known_solutions
from services.control.open_episode import OpenEpisode
from services.kernel import credentials
from services.kernel.registry import Replica


@dataclass(frozen=True, slots=True)
class OpenedByCredential:
    """An open episode and those of its products that a credential opens."""

    episode: OpenEpisode
    products: tuple[str, ...]

    def as_access(self) -> AgentAccess:
        instance, request = self.episode.setup.instance, self.episode.request
        schema = None if instance is None else instance.answer_schema
        return AgentAccess(
            episode_id=self.episode.id,
            products={
                name: product_access(self.episode.owners[name].replica, self.episode.credentials[name])
                for name in self.products
            },
            seed=request.seed,
            answer_schema=None if schema is None else dict(schema),
            # Otherwise an agent could ask for the list of what solves its task.
            operations=load_known_solutions().get(request.task or "", []) if request.assisted else [],
        )


class AgentCredentials:
    """The credentials of all open episodes, by digest. A product's own opens that product, the office's all of them."""

    def __init__(self) -> None:
        self._by_digest: dict[bytes, OpenedByCredential] = {}

    def add(self, episode: OpenEpisode) -> None:
        self._by_digest |= dict(_digests(episode))

    def remove(self, episode: OpenEpisode) -> None:
        for digest, _ in _digests(episode):
            self._by_digest.pop(digest, None)

    def find(self, credential: str) -> OpenedByCredential | None:
        return self._by_digest.get(credentials.digest(credential))


def _digests(episode: OpenEpisode) -> Iterator[tuple[bytes, OpenedByCredential]]:
    for product, credential in episode.credentials.items():
        yield credentials.digest(credential), OpenedByCredential(episode, (product,))
    yield credentials.digest(episode.office_credential), OpenedByCredential(episode, tuple(episode.owners))


def product_access(replica: Replica, credential: str) -> ProductAccess:
    """Returns the access that other services have to the agent API, which need no relay."""
    base = replica.direct_url or replica.url
    return ProductAccess(base_url=base, credential=credential, openapi_url=f"{base}/openapi.json")
