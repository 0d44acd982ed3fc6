"""Requests a second, the 99th percentile and the memory of every service, from the metrics that they publish."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypedDict

from prometheus_client.parser import text_string_to_metric_families

_PERCENTILE = 0.99


class ServiceMetrics(TypedDict):
    """Since the last look; None before the second one."""

    qps: float | None
    p99_ms: float | None
    memory_mb: float | None
    requests: int


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    requests: float
    buckets: Mapping[float, float]
    memory: float


class MetricsHistory:
    """Keeps the last sample of each service, to compare the next one with."""

    def __init__(self) -> None:
        self._last: dict[str, _Sample] = {}

    def note(self, service: str, exposition: str, time_s: float | None = None) -> ServiceMetrics:
        sample = _parse(exposition, time.monotonic() if time_s is None else time_s)
        previous, self._last[service] = self._last.get(service), sample
        memory = round(sample.memory / 1e6, 1) if sample.memory else None
        if previous is None or sample.at <= previous.at or sample.requests < previous.requests:
            return {"qps": None, "p99_ms": None, "memory_mb": memory, "requests": round(sample.requests)}
        qps = (sample.requests - previous.requests) / (sample.at - previous.at)
        counts = {edge: count - previous.buckets.get(edge, 0.0) for edge, count in sample.buckets.items()}
        return {
            "qps": round(qps, 2),
            "p99_ms": estimate_percentile(counts, _PERCENTILE),
            "memory_mb": memory,
            "requests": round(sample.requests),
        }

    def forget_others(self, services: Iterable[str]) -> None:
        self._last = {service: sample for service, sample in self._last.items() if service in set(services)}


def estimate_percentile(cumulative: Mapping[float, float], share: float) -> float | None:
    """Milliseconds below which this share of the requests was answered, by interpolation within a bucket."""
    edges = sorted(cumulative)
    total = cumulative[edges[-1]] if edges else 0.0
    if total <= 0:
        return None
    low, below = 0.0, 0.0
    for edge in edges:
        if cumulative[edge] >= share * total:
            if edge == inf:
                return round(1000 * low, 3)
            within = (share * total - below) / (cumulative[edge] - below)
            return round(1000 * (low + within * (edge - low)), 3)
        low, below = edge, cumulative[edge]
    return None


def _parse(exposition: str, time_s: float) -> _Sample:
    requests, memory = 0.0, 0.0
    buckets: dict[float, float] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            match sample.name:
                case "dayshift_requests_total":
                    requests += sample.value
                case "dayshift_request_seconds_bucket":
                    buckets[float(sample.labels["le"])] = sample.value
                case "dayshift_resident_bytes":
                    memory = sample.value
    return _Sample(time_s, requests, buckets, memory)
