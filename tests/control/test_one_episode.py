"""A whole episode over HTTP, on the embedded parts and on PostgreSQL and Redis."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tests.control.stack import PLAYGROUND, TASK, Attempt, Stack


def test_an_episode_that_is_solved_passes_with_exactly_one(stack: Stack) -> None:
    attempt = stack.open()
    attempt.solve()

    verdict = attempt.submit()

    assert (verdict["outcome"], verdict["reward"]) == ("passed", 1.0)
    assert [finding["held"] for finding in verdict["findings"]] == [True]
    assert verdict["collateral"] == []
    assert verdict["steps"] > 1


def test_doing_nothing_earns_exactly_nothing(stack: Stack) -> None:
    verdict = stack.open().submit()

    assert (verdict["outcome"], verdict["reward"]) == ("failed", 0.0)


def test_a_collateral_change_is_named_and_costs(stack: Stack) -> None:
    attempt = stack.open()
    attempt.solve()
    other = next(one["id"] for one in attempt.contacts() if one["id"] != attempt.contact()["id"])
    attempt.update(other, city="Utrecht")

    verdict = attempt.submit()

    assert verdict["outcome"] == "failed"
    assert verdict["reward"] < 1
    assert [(found["id"], "properties.city" in found["fields"]) for found in verdict["collateral"]] == [
        (int(other), True)
    ]


def test_harm_without_help_is_negative(stack: Stack) -> None:
    attempt = stack.open()
    for contact in attempt.contacts()[:5]:
        attempt.update(contact["id"], lastname="Nobody")

    assert -1 < attempt.submit()["reward"] < 0


def test_a_second_submit_returns_the_first_verdict(stack: Stack) -> None:
    attempt = stack.open()
    attempt.solve()

    assert attempt.submit() == attempt.submit()


def test_reading_an_episode_while_it_ends_meets_no_fault(stack: Stack) -> None:
    def read(attempt: Attempt, path: str) -> set[int]:
        statuses = set()
        for _ in range(40):
            answer = attempt.post("tail") if path == "/tail" else stack.control.get(f"/v1/episodes/{attempt.id}{path}")
            statuses.add(answer.status_code)
            if path == "" and answer.json()["state"] != "open":
                assert answer.json()["outcome"] is not None
        return statuses

    with ThreadPoolExecutor(5) as pool:
        for _ in range(10):
            attempt = stack.open()
            readers = {path: pool.submit(read, attempt, path) for path in ("", "/diff", "/trajectory", "/tail")}
            pool.submit(attempt.submit).result()

            # The tail alone is of open episodes only.
            allowed = {path: {200, 404} if path == "/tail" else {200} for path in readers}
            assert all(reader.result() <= allowed[path] for path, reader in readers.items())


def test_concurrent_submits_count_once(stack: Stack) -> None:
    before = stack.control.get("/v1/report").json()["outcomes"].get("passed", 0)
    attempt = stack.open()
    attempt.solve()

    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda _: attempt.submit(), range(8)))

    assert all(verdict == verdicts[0] for verdict in verdicts)
    assert stack.control.get("/v1/report").json()["outcomes"]["passed"] == before + 1


def test_a_judged_episode_lets_no_agent_in(stack: Stack) -> None:
    attempt = stack.open()
    attempt.submit()

    assert attempt.agent.get("/crm/v3/objects/contacts").status_code == 401


def test_state_diff_and_trajectory_are_the_same_before_and_after_the_end(stack: Stack) -> None:
    attempt = stack.open()
    attempt.solve()
    diff, trajectory = attempt.get("/diff"), attempt.get("/trajectory")
    assert attempt.get()["state"] == "open"
    attempt.submit()

    assert (attempt.get("/diff"), attempt.get("/trajectory")) == (diff, trajectory)
    assert attempt.get()["state"] == "judged"
    assert [change["event"] for change in diff["products"]["crm"]] == ["record.updated"]
    assert trajectory["steps"][-1]["operation"] == "crm.contacts.update"

    attempt.post("close")
    assert attempt.get()["state"] == "closed"


def test_closing_is_idempotent_and_without_a_submit_it_is_unscored(stack: Stack) -> None:
    attempt = stack.open()

    first, second = attempt.post("close").json(), attempt.post("close").json()

    assert first == second
    assert (first["outcome"], first["because"]) == ("unscored", "closed before it was submitted")
    assert attempt.submit()["reward"] is None


def test_an_idempotency_key_opens_one_episode_also_when_it_comes_twice_at_once(stack: Stack) -> None:
    before = stack.control.get("/v1/report").json()["episodes"]

    def opened(_: int) -> str:
        answer = stack.control.post(
            "/v1/episodes", json={"task": TASK, "seed": 1}, headers={"idempotency-key": f"open-{before}"}
        )
        return answer.text

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(opened, range(8)))

    assert len(answers) == 1
    assert stack.control.get("/v1/report").json()["episodes"] == before + 1
    other = stack.control.post(
        "/v1/episodes", json={"task": TASK, "seed": 2}, headers={"idempotency-key": f"open-{before}"}
    )
    assert other.status_code == 409


def test_the_same_seed_gives_the_same_beginning_and_another_seed_another(stack: Stack) -> None:
    first, again, other = stack.open(seed=11), stack.open(seed=11), stack.open(seed=12)

    assert first.opened["fingerprint"] == again.opened["fingerprint"] != other.opened["fingerprint"]
    assert first.opened["brief"] == again.opened["brief"] != other.opened["brief"]
    assert first.agent.get("/crm/v3/objects/contacts").content == again.agent.get("/crm/v3/objects/contacts").content


def test_two_episodes_do_not_see_each_other(stack: Stack) -> None:
    one, other = stack.open(), stack.open()
    one.solve()

    assert other.contact()["properties"]["phone"] != other.right_number


def test_a_menu_comes_where_it_is_asked_for(stack: Stack) -> None:
    assert stack.open().opened["menu"] is None
    assert {item["operation"] for item in stack.open(menu=True).opened["menu"]} > {"crm.contacts.update"}


def test_waiting_costs_hours_of_the_budget(stack: Stack) -> None:
    attempt = stack.open()

    assert attempt.post("wait", {"hours": 1}).status_code == 409
    assert attempt.post("wait", {"hours": 1}).json()["error"] == "conflict"


def test_free_play_has_no_verdict_and_all_the_time_it_wants(stack: Stack) -> None:
    attempt = stack.open(task=None)
    before = attempt.get()["clock"]

    waited = attempt.post("wait", {"hours": 36}).json()

    assert attempt.opened["budget"] is None
    assert waited["clock"][:10] > before[:10]
    closed = attempt.post("close").json()
    assert (closed["outcome"], closed["because"]) == ("unscored", "free play")


def test_the_playground_stands_open_and_can_be_reset(stack: Stack) -> None:
    with stack.playground() as play:
        created = play.post("/crm/v3/objects/contacts", json={"properties": {"email": "ida@corvane.eu"}})
        assert created.status_code == 201, created.text
        address = f"/crm/v3/objects/contacts/{created.json()['id']}"
        assert play.get(address).status_code == 200

        assert stack.control.post("/v1/playground/reset").status_code == 204

        assert play.get(address).status_code == 404


def test_up_prints_lines_to_paste(stack: Stack) -> None:
    line = next(line.strip() for line in stack.output().splitlines() if line.strip().startswith("curl"))

    ran = subprocess.run(["sh", "-c", line], capture_output=True, check=True)

    assert PLAYGROUND in line
    assert len(json.loads(ran.stdout)["results"]) == 3


def test_health_names_products_and_worlds(stack: Stack) -> None:
    health = stack.control.get("/health", headers={"authorization": ""}).json()

    assert health["status"] == "ok"
    assert list(health["worlds"]["crm"]) == ["standard"]


def test_metrics_count_requests_and_open_episodes(stack: Stack) -> None:
    stack.open()

    text = stack.control.get("/metrics").text

    assert "dayshift_open_episodes" in text
    assert 'operation="POST /v1/episodes",status="201"' in text


def test_tasks_are_listed_and_filtered(stack: Stack) -> None:
    families = stack.control.get("/v1/tasks", params={"product": "crm"}).json()["families"]

    assert TASK in [family["id"] for family in families]
    assert stack.control.get("/v1/tasks", params={"product": "nothing"}).json()["families"] == []


def test_planned_faults_are_in_the_verdict_and_in_the_report(stack: Stack) -> None:
    attempt = stack.open(faults="storm")
    statuses = []
    for _ in range(12):
        try:
            statuses.append(attempt.agent.get("/crm/v3/objects/contacts").status_code)
        except Exception:  # noqa: BLE001 - a connection cut by plan
            statuses.append(0)

    verdict = attempt.submit()

    assert verdict["faults"]
    assert verdict["outcome"] == "failed"
    assert sum(stack.control.get("/v1/report").json()["faults_injected"].values()) >= len(verdict["faults"])
