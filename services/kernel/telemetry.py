"""One service's Prometheus metrics, its line per request, and traces where a collector is named."""

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from services.kernel.logs import WRITER, encode_line

_NO_SPAN = nullcontext()
_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Telemetry:
    """The metrics and traces of one service."""

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self._log = logging.getLogger(f"dayshift.{service}")
        self._service = service
        self._requests = Counter(
            "dayshift_requests", "Requests answered.", ("operation", "status"), registry=self.registry
        )
        # Finding a labelled counter costs more than counting.
        self._counted: dict[tuple[str, int], Counter] = {}
        self._latency = Histogram(
            "dayshift_request_seconds", "Time from body read to answer.", buckets=_BUCKETS, registry=self.registry
        )
        self._faults = Counter("dayshift_faults_injected", "Planned faults.", ("kind",), registry=self.registry)
        self.unscored = Counter(
            "dayshift_episodes_unscored", "Episodes that ended in an environment error.", registry=self.registry
        )
        self.open_episodes = Gauge("dayshift_open_episodes", "Episodes open here.", registry=self.registry)
        self.open_forks = Gauge("dayshift_open_forks", "Forks at work.", registry=self.registry)
        self.idle_forks = Gauge("dayshift_idle_forks", "Forks rolled back and waiting.", registry=self.registry)
        dropped = Gauge("dayshift_log_lines_dropped", "Log lines that nobody read in time.", registry=self.registry)
        dropped.set_function(lambda: WRITER.dropped)
        resident = Gauge("dayshift_resident_bytes", "Memory of this process.", registry=self.registry)
        resident.set_function(_resident_bytes)
        self._traces = _tracer_provider(service)

    def count_answer(self, episode: str, operation: str, status: int, seconds: float) -> None:
        counted = self._counted.get((operation, status))
        if counted is None:
            counted = self._counted[operation, status] = self._requests.labels(operation, str(status))
        counted.inc()
        self._latency.observe(seconds)
        if self._log.isEnabledFor(logging.INFO):
            self._write_line(episode, operation, status, seconds)

    def _write_line(self, episode: str, operation: str, status: int, seconds: float) -> None:
        """Past the logging module, which would cost more than the request."""
        fields = {
            "episode": episode,
            "product": self._service,
            "operation": operation,
            "status": status,
            "ms": round(seconds * 1000, 3),
        }
        WRITER.put(encode_line("info", self._log.name, "answered", fields))

    def fault_injected(self, kind: str) -> None:
        self._faults.labels(kind).inc()

    def broke(self, episode: str, cause: str) -> None:
        """Logs our own failure with its traceback, which no answer ever shows."""
        self.unscored.inc()
        self._log.error("episode broke", exc_info=True, extra={"fields": {"episode": episode, "cause": cause}})

    def span(self, method: str, path: str) -> AbstractContextManager[Any]:
        return _NO_SPAN if self._traces is None else self._trace(f"{method} {path}")

    @contextmanager
    def _trace(self, name: str) -> Iterator[Any]:
        with self._traces.get_tracer("dayshift").start_as_current_span(name) as span:
            yield span

    def close(self) -> None:
        """Sends the spans that are still in the batch."""
        if self._traces is not None:
            self._traces.shutdown()

    def exposition(self) -> bytes:
        return generate_latest(self.registry)


def _resident_bytes() -> float:
    """Read when somebody asks for the metrics; 0 where the system has no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _tracer_provider(service: str) -> Any:
    """Only where a collector is named: OpenTelemetry costs an import of 200 ms and 20 µs a span."""
    if not os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": f"dayshift-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
