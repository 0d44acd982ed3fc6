"""Traces go to a collector when one is named, and cost nothing when none is."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from services.kernel.telemetry import Telemetry

SCRIPT = """
from services.kernel.telemetry import Telemetry
telemetry = Telemetry("pantry")
with telemetry.span("GET", "/shelves/1"):
    pass
telemetry.close()
"""


class Collector(BaseHTTPRequestHandler):
    """Takes spans as a real OpenTelemetry collector would, over HTTP."""

    received: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        type(self).received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    Collector.received = []
    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Collector.received
    server.shutdown()
    thread.join()
    server.server_close()


def test_spans_reach_the_named_collector(collector: tuple[str, list[tuple[str, bytes]]]) -> None:
    endpoint, received = collector
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
        check=True,
        timeout=60,
    )

    [(path, spans)] = received
    assert path == "/v1/traces"
    assert b"GET /shelves/1" in spans
    assert b"dayshift-pantry" in spans


def test_without_a_collector_opentelemetry_is_not_even_imported() -> None:
    script = SCRIPT + "import sys; assert not any(name.startswith('opentelemetry.sdk') for name in sys.modules)"
    bare = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}

    subprocess.run([sys.executable, "-c", script], env=bare, check=True, timeout=60)


def test_a_request_is_counted_by_operation_and_status() -> None:
    telemetry = Telemetry("pantry")
    telemetry.count_answer("e1", "pantry.shelves.get", 200, 0.002)
    telemetry.fault_injected("delay")
    exposed = telemetry.exposition().decode()

    assert 'dayshift_requests_total{operation="pantry.shelves.get",status="200"} 1.0' in exposed
    assert 'dayshift_faults_injected_total{kind="delay"} 1.0' in exposed
    assert 'dayshift_request_seconds_bucket{le="0.002"} 1.0' in exposed
