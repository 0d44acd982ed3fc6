"""What every product of the catalogue keeps, whatever vendor it imitates; a new product gets these tests for free."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import httpx
import pytest

from services.kernel import catalog
from services.kernel.agent_api import Dropped
from services.kernel.app import create_api
from services.kernel.checks import Check
from services.kernel.config import Settings
from services.kernel.episodes import Episode, Opening
from services.kernel.product import Product
from services.kernel.serve import Service
from services.kernel.statements import RowTable, list_stored_columns
from tests.company import WORLD, small_company

pytestmark = pytest.mark.anyio
GIVEAWAYS = re.compile(
    r"\b(mock|fake|simulat\w*|episode|reward|verdict|oracle|harness|dayshift|example\.com)\b", re.IGNORECASE
)


HOUSE_WORDS = re.compile(
    r"\b(agent|environment|failure|refusal|door|nobody|rendered|shown|bug|broke|broken)\b|hunter2|traceback",
    re.IGNORECASE,
)
ODD_CHARSETS = ("undefined", "punycode", "idna", "unicode_escape", "raw-unicode-escape", "utf-7", "utf-16", "no-such")
_FORM = (
    b'--mark\r\nContent-Disposition: form-data; name="file"; filename="\\ud800\xff"\r\n\r\nx\r\n'
    b'--mark\r\nContent-Disposition: form-data; name="\\ud800"\r\n\r\n\\ud800\xff\r\n--mark--\r\n'
)


@pytest.fixture(scope="module", params=catalog.all_names())
def product(request: pytest.FixtureRequest) -> Product:
    declared: Product = catalog.product(request.param)
    return declared


@pytest.fixture(scope="module")
def service(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = Settings(var=small_company(tmp_path_factory), harness_token="harness", worlds=(WORLD,))
    service = Service(product, settings)
    yield service
    service.episodes.worlds.close()


@pytest.fixture(scope="module")
def document(product: Product) -> dict[str, Any]:
    return create_api(product).openapi()


@pytest.fixture(scope="module")
def agent_app(service: Service) -> Any:
    return service.agent_app()


@pytest.fixture
def episode(service: Service, request: pytest.FixtureRequest) -> Iterator[Episode]:
    with_faults = getattr(request, "param", "none")
    credential = service.product.create_credential("one-secret-of-a-test")
    episode = service.episodes.open(Opening("e1", credential, seed=7, world=WORLD, faults=with_faults))
    yield episode
    service.episodes.close(episode)


def client(agent_app: Any, credential: str | None) -> httpx.AsyncClient:
    headers = {} if credential is None else {"authorization": f"Bearer {credential}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(agent_app), base_url="http://localhost", headers=headers)


def list_operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def a_listing(document: dict[str, Any]) -> str:
    """A path without parameters that is read with GET."""
    return next(path for method, path, _ in list_operations(document) if method == "GET" and "{" not in path)


async def test_a_request_without_a_known_credential_is_refused_as_the_vendor_refuses(
    agent_app: Any, product: Product, document: dict[str, Any]
) -> None:
    for credential in (None, "wrong", product.create_credential("another-secret")):
        async with client(agent_app, credential) as agent:
            answer = await agent.get(a_listing(document))

        assert answer.status_code == 401
        assert not GIVEAWAYS.search(answer.text)


async def test_an_answer_carries_the_revision_and_the_episodes_own_time(
    agent_app: Any, episode: Episode, document: dict[str, Any]
) -> None:
    async with client(agent_app, episode.opening.credential) as agent:
        answer = await agent.get(a_listing(document))

    assert answer.headers["x-data-revision"] == str(episode.world.revision)
    assert answer.headers["date"].endswith("GMT")
    assert "server" not in answer.headers
    assert episode.broken is None


async def test_what_is_not_served_is_refused_as_the_vendor_refuses(agent_app: Any, episode: Episode) -> None:
    async with client(agent_app, episode.opening.credential) as agent:
        answers = [await agent.get(path) for path in ("/nowhere", "/control/episodes", "/health", "/metrics", "/docs")]

    assert {answer.status_code for answer in answers} == {404}
    assert not any(GIVEAWAYS.search(answer.text) for answer in answers)
    assert episode.broken is None


async def test_the_same_calls_get_the_same_bytes_in_another_episode(
    agent_app: Any, service: Service, product: Product, document: dict[str, Any]
) -> None:
    paths = [path for method, path, _ in list_operations(document) if method == "GET" and "{" not in path][:12]
    bodies: list[list[bytes]] = []
    for number in range(2):
        credential = product.create_credential(f"secret-of-episode-{number}")
        episode = service.episodes.open(Opening(f"same{number}", credential, seed=7, world=WORLD))
        async with client(agent_app, credential) as agent:
            bodies.append([(await agent.get(path)).content for path in paths])
        service.episodes.close(episode)

    assert bodies[0] == bodies[1]


def test_a_search_for_a_path_finds_the_code_that_serves_it(product: Product, document: dict[str, Any]) -> None:
    """The path up to its first parameter; the CRM adds what is the same for all object types from a table."""
    folder = Path(__file__).resolve().parents[2] / "services" / product.name
    source = "\n".join(module.read_text(encoding="utf-8") for module in folder.rglob("*.py"))
    starts = {"/".join(path.partition("{")[0].split("/")[:5]) for path in document["paths"]}

    assert not [start for start in sorted(starts) if f'"{start}' not in source]


async def test_an_ended_episodes_credential_opens_nothing(
    agent_app: Any, service: Service, product: Product, document: dict[str, Any]
) -> None:
    credential = product.create_credential("secret-that-ends")
    service.episodes.close(service.episodes.open(Opening("ended", credential, seed=7, world=WORLD)))
    async with client(agent_app, credential) as agent:
        answer = await agent.get(a_listing(document))

    assert answer.status_code == 401


async def test_a_body_that_cannot_be_read_is_refused_and_changes_nothing(
    agent_app: Any, episode: Episode, document: dict[str, Any]
) -> None:
    posts = [
        path
        for method, path, operation in list_operations(document)
        if method == "POST" and "{" not in path and operation.get("requestBody", {}).get("required")
    ]
    async with client(agent_app, episode.opening.credential) as agent:
        answers = [
            await agent.post(path, content=b"\xff{", headers={"content-type": "application/json"})
            for path in posts[:10]
        ]

    assert posts
    assert all(400 <= answer.status_code < 500 for answer in answers)
    assert episode.world.changes() == []
    assert episode.broken is None


@pytest.mark.parametrize("charset", ODD_CHARSETS)
async def test_a_form_in_an_odd_charset_is_refused_as_the_vendor_refuses(
    agent_app: Any, episode: Episode, document: dict[str, Any], charset: str
) -> None:
    posts = [path for method, path, _ in list_operations(document) if method == "POST"]
    media = {"content-type": f"multipart/form-data; boundary=mark; charset={charset}"}
    async with client(agent_app, episode.opening.credential) as agent:
        answers = [
            await agent.post(_fill(path), params={"filename": "a", "path": "a"}, content=_FORM, headers=media)
            for path in posts
        ]

    assert {answer.status_code for answer in answers} == {400}
    assert not any(GIVEAWAYS.search(answer.text) for answer in answers)
    assert episode.world.changes() == []
    assert episode.broken is None


async def test_a_route_that_breaks_answers_in_the_vendors_words_alone(
    agent_app: Any, episode: Episode, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_down(*_: object) -> None:
        raise ZeroDivisionError("hunter2, which nobody may read")

    monkeypatch.setattr(agent_app.dispatch, "answer", break_down)
    async with client(agent_app, episode.opening.credential) as agent:
        answers = [
            await agent.request(method, _fill(path), content=b"")
            for method, path in {(method, path) for method, path, _ in list_operations(document)}
        ]

    assert {answer.status_code for answer in answers} == {500}
    assert [answer.text for answer in answers if HOUSE_WORDS.search(answer.text) or GIVEAWAYS.search(answer.text)] == []
    assert episode.broken_by_agent


def _fill(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "1", path)


@pytest.mark.parametrize("episode", ["storm"], indirect=True)
async def test_planned_faults_speak_the_vendors_language(
    agent_app: Any, episode: Episode, document: dict[str, Any]
) -> None:
    seen: dict[int, httpx.Response] = {}
    async with client(agent_app, episode.opening.credential) as agent:
        for _ in range(60):
            try:
                answer = await agent.get(a_listing(document))
            except Dropped:
                continue
            seen.setdefault(answer.status_code, answer)

    assert {200, 429, 503} <= seen.keys()
    assert "retry-after" in seen[429].headers
    assert not any(GIVEAWAYS.search(seen[status].text) for status in (429, 503))
    assert episode.broken is None


def test_every_operation_has_an_id_of_its_own_and_says_what_it_does(product: Product, document: dict[str, Any]) -> None:
    operations = [operation for _, _, operation in list_operations(document)]
    ids = [operation["operationId"] for operation in operations]

    assert len(set(ids)) == len(ids)
    assert all(operation_id.startswith(f"{product.name}.") for operation_id in ids)
    assert [operation["operationId"] for operation in operations if not operation.get("description")] == []


def test_the_document_says_nothing_of_a_test(document: dict[str, Any]) -> None:
    assert GIVEAWAYS.search(json.dumps(document)) is None


def test_every_table_has_a_row_type_with_its_columns(product: Product) -> None:
    for table in product.schema.list_recorded_tables():
        assert isinstance(table, RowTable)
        declared = get_type_hints(get_origin(table.row) or table.row)

        assert set(declared) == {str(column.name) for column in list_stored_columns(table)}


def test_every_check_is_named_after_its_class_and_documented(product: Product) -> None:
    for name, check in product.checks.items():
        assert issubclass(check, Check)
        assert name == check.__name__
        assert check.__doc__


def test_the_product_has_the_folders_and_pages_of_every_product(product: Product) -> None:
    folder = Path(__file__).resolve().parents[2] / "services" / product.name

    for part in ("product.py", "tables.py", "errors.py", "checks.py", "README.md", "routes", "operations", "schemas"):
        assert (folder / part).exists(), part
