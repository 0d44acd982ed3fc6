"""Thousands of generated requests against a product's OpenAPI: no 5xx, no answer that the document does not promise."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import BaseSchema

from services.kernel.config import Settings
from services.kernel.episodes import Episode, Opening
from services.kernel.product import Product
from services.kernel.serve import Service
from tests.contract.action_space import read_lock

POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
# Some requests of each operation should reach something: puts real values where a random text would never hit.
Aim = Callable[[Case, GenerationMode, int], None]


def nouns(product: Product) -> list[str]:
    """Of all that an agent can do, as it is locked: what is new is tried without a new line here."""
    return sorted({name.split(".")[1] for name in read_lock(product.name)["operations"]})


class Requests:
    """What a document says that can be asked, and how often it was."""

    def __init__(self, schema: BaseSchema, token: str) -> None:
        self._operations = [one.ok() for one in schema.get_all_operations()]
        self._token = token
        self.served = 0

    @property
    def nouns(self) -> list[str]:
        return list(dict.fromkeys(map(_noun, self._operations)))

    def meet(self, noun: str, examples: Mapping[GenerationMode, int], aim: Aim) -> None:
        chosen = [one for one in self._operations if _noun(one) == noun]
        assert chosen, f"no operation of {noun}"
        for operation in chosen:
            for mode in _modes(operation):
                self._try(operation, mode, examples[mode], aim)

    def _try(self, operation: Any, mode: GenerationMode, examples: int, aim: Aim) -> None:
        turns = itertools.count()

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def generated(case: Case) -> None:
            aim(case, mode, next(turns))
            self.served += 1
            case.call_and_validate(headers={"Authorization": f"Bearer {self._token}"})

        generated()


class Inside(Requests):
    """The same without a socket: the product in this very process."""

    def __init__(self, product: Product, folder: Path, checks: Mapping[str, Any]) -> None:
        self.service = Service(product, Settings(var=folder, harness_token="harness"))
        api = self.service.agent_app()
        super().__init__(
            schemathesis.openapi.from_asgi("/openapi.json", api, config=strict(checks)),
            product.create_credential("generated"),
        )

    @contextmanager
    def opened(self, name: str) -> Iterator[Episode]:
        """An episode that nothing may break."""
        episode = self.service.episodes.open(Opening(name, self._token, 7, "standard"))
        try:
            yield episode
            assert episode.broken is None
        finally:
            self.service.episodes.close(episode)

    def close(self) -> None:
        self.service.episodes.worlds.close()


def strict(checks: Mapping[str, Any]) -> SchemathesisConfig:
    """All that schemathesis can check, but for what is said."""
    # A body may be refused for its size before anybody looks at what is in it.
    refusals = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "431"]
    rejection = {"negative_data_rejection": {"expected-statuses": refusals}}
    return SchemathesisConfig.from_dict({"checks": {"enabled": True, **rejection, **checks}})


def aimed_at(real: Mapping[str, Sequence[int | str]], ids: Sequence[int | str], ending: str) -> Aim:
    """Every other request that fits the document names what is there: by its parameter, or one of `ids`."""

    def aim(case: Case, mode: GenerationMode, turn: int) -> None:
        for name in case.path_parameters or {} if mode is POSITIVE and turn % 2 else ():
            if choices := real.get(name, ids if name.endswith(ending) else ()):
                case.path_parameters[name] = choices[turn // 2 % len(choices)]

    return aim


def _noun(operation: Any) -> str:
    return str(operation.definition.raw["operationId"]).split(".")[1]


def _modes(operation: Any) -> list[GenerationMode]:
    """A path of free texts and nothing else leaves nothing to get wrong."""
    return [POSITIVE, NEGATIVE] if list(operation.body) or list(operation.query) else [POSITIVE]
