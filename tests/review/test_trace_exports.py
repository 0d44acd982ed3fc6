"""ATIF and OpenTelemetry: documents that other tools read."""

import base64
import json
from typing import Any

import pytest
from dayshift.exports.atif import to_atif
from dayshift.exports.otel import to_otel
from dayshift.model_record import ModelRecord, ModelTurn
from dayshift.review.store import Review
from dayshift.trajectory import Trajectory, Turn
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.review.build import CLOCK, step, trajectory

REVIEW = Review(key="a" * 24, reviewer="ada", blame="model", labels=["incomplete"])


@pytest.fixture
def played() -> Trajectory:
    model = ModelRecord(
        provider="openai",
        model="solver",
        sampling={},
        system_prompt="You work here.",
        system_prompt_version="1",
        surface="core",
        tool_tokens=10,
        max_context_tokens=1000,
        messages=[
            {"role": "system", "content": "You work here."},
            {"role": "user", "content": "Correct it."},
            {"role": "assistant", "content": "I look first."},
            {"role": "tool", "content": "{}"},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ],
        turns=[
            ModelTurn(
                messages_sent=2, finish_reason="tool_calls", input_tokens=9, output_tokens=3, first_step=1, last_step=2
            ),
            ModelTurn(messages_sent=4, finish_reason="stop", first_step=3, last_step=3, token_ids=[1, 2]),
        ],
        cost=0.25,
    )
    steps = (step(1), step(2, status=404, answer="no"), step(3, operation="submit", method="POST"))
    return trajectory(
        steps=steps, outcome="failed", policy="solver", policy_version="step-9", model=model, flags=("harm",)
    )


def parse(document: dict[str, Any]) -> Any:
    """OTLP writes ids as hexadecimal text, which protobuf's own JSON takes for base64."""
    text = json.loads(json.dumps(document))
    for span in text["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in {"traceId", "spanId", "parentSpanId"} & set(span):
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return ParseDict(text, ExportTraceServiceRequest())


def test_a_collector_reads_the_spans_as_one_tree(played: Trajectory) -> None:
    spans = parse(to_otel(played, [REVIEW])).resource_spans[0].scope_spans[0].spans

    root, first, second, *calls = spans
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert len(root.trace_id) == 16
    assert len({span.span_id for span in spans}) == 6
    assert not root.parent_span_id
    assert {first.parent_span_id, second.parent_span_id} == {root.span_id}
    assert [call.parent_span_id for call in calls] == [first.span_id, first.span_id, second.span_id]
    assert all(
        root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= root.end_time_unix_nano
        for span in spans
    )
    assert calls[1].status.code == 2
    assert [event.name for event in root.events] == ["dayshift.finding", "dayshift.flag", "dayshift.review"]
    attributes = {pair.key: pair.value for pair in root.attributes}
    assert attributes["dayshift.reward"].double_value == 0.25
    assert attributes["gen_ai.agent.version"].string_value == "step-9"


def test_the_turns_of_a_team_are_parents_of_their_specialists_calls() -> None:
    turn = Turn(
        number=1,
        operation="ask_crm",
        arguments={},
        asked="crm",
        ended="reported",
        first=1,
        last=2,
        status=200,
        answer="{}",
        clock=CLOCK,
    )
    spans = parse(to_otel(trajectory(steps=(step(1), step(2)), turns=[turn]))).resource_spans[0].scope_spans[0].spans

    assert spans[1].name == "invoke_agent crm"
    assert {span.parent_span_id for span in spans[2:]} == {spans[1].span_id}


def test_an_atif_document_has_every_call_with_its_answer(played: Trajectory) -> None:
    document = to_atif(played, [REVIEW])

    assert document["schema_version"] == "ATIF-v1.4"
    assert [each["step_id"] for each in document["steps"]] == [1, 2, 3, 4]
    assert [each["source"] for each in document["steps"]] == ["system", "user", "agent", "agent"]
    assert [each["message"] for each in document["steps"]][2:] == ["I look first.", "Done."]
    for each in document["steps"][2:]:
        ids = [call["tool_call_id"] for call in each["tool_calls"]]
        assert [result["source_call_id"] for result in each["observation"]["results"]] == ids
    assert document["steps"][3]["metrics"]["completion_token_ids"] == [1, 2]
    assert document["final_metrics"]["total_cost_usd"] == 0.25
    assert document["extra"]["verdict"]["outcome"] == "failed"
    assert document["extra"]["reviews"][0]["labels"] == ["incomplete"]


def test_only_agents_steps_carry_what_atif_allows_them_alone(played: Trajectory) -> None:
    for each in to_atif(played)["steps"]:
        if each["source"] != "agent":
            assert not {"tool_calls", "reasoning_content", "metrics", "model_name"} & set(each)
