"""Hundreds of generated requests against the IDE's OpenAPI: no 5xx, and no episode that breaks."""

import pytest
import schemathesis

from tests.contract.generated import NEGATIVE, POSITIVE, Requests, aimed_at, strict
from tests.ide.service import Episode

LEAST_CASES = 800
EXAMPLES = {POSITIVE: 6, NEGATIVE: 6}
# The document does not list the three vendors' refusals, so they cannot be compared with it. 511 is how the remote
# runtime's own server tells that something was raised; its client expects it.
CHECKS = {"enabled": False, "not_a_server_error": {"enabled": True, "expected-statuses": ["2xx", "3xx", "4xx", "511"]}}


@pytest.mark.slow
def test_no_generated_request_breaks_the_service(episode: Episode) -> None:
    """Most of them reach a sandbox, so there are fewer than for the other products."""
    headers = {"authorization": f"Bearer {episode.token}"}
    with episode.client() as http:
        sandbox, repository = http.post("/api/sandbox", json={}).json(), http.get("/api/v3/user/repos").json()[0]
    real = {
        "owner": (repository["owner"]["login"],),
        "repo": (repository["name"],),
        "number": (1, 2, 3),
        "sandboxId": (sandbox["id"],),
        "sandboxIdOrName": (sandbox["id"],),
    }
    schema = schemathesis.openapi.from_url(f"{episode.url}/openapi.json", headers=headers, config=strict(CHECKS))
    requests = Requests(schema, episode.token)

    for noun in requests.nouns:
        requests.meet(noun, EXAMPLES, aimed_at(real, (), "Id"))

    assert requests.served >= LEAST_CASES
    assert episode.verify() == []
