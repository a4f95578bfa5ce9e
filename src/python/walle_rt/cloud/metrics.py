"""Figures for Prometheus. One registry per process, as its client has it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "walle_requests_total", "Requests by area and status.", ["area", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "walle_request_seconds",
    "Time of a request, to the last byte of its reply.",
    ["area"],
    registry=REGISTRY,
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
SENT_BYTES = Counter("walle_files_sent_bytes_total", "Bytes of metadata and blobs sent.", registry=REGISTRY)
REPORTS = Counter("walle_reports_total", "Reports by status.", ["status"], registry=REGISTRY)
REPEATED = Counter("walle_reports_repeated_total", "Reports that came a second time.", registry=REGISTRY)
UNCOUNTED = Counter(
    "walle_reports_uncounted_total",
    "Reports that said nothing new of a device that was asked.",
    registry=REGISTRY,
)
WEBHOOKS = Counter(
    "walle_webhooks_total", "Events: delivered, failed, dropped.", ["outcome"], registry=REGISTRY
)
LIMITED = Counter("walle_reports_limited_total", "Batches of devices that send too many.", registry=REGISTRY)
PROFILES_DROPPED = Counter(
    "walle_profiles_dropped_total", "Profiles of devices that nobody came to look at.", registry=REGISTRY
)
EPOCH = Gauge("walle_epoch", "Number of the plan that is out.", registry=REGISTRY)
RELEASES = Gauge("walle_releases", "Releases by state.", ["state"], registry=REGISTRY)
LOOP_SECONDS = Histogram(
    "walle_loop_seconds",
    "One turn of the release loop.",
    registry=REGISTRY,
    buckets=(0.001, 0.01, 0.1, 0.3, 1, 3),
)
LOOP_FAILURES = Counter("walle_loop_failures_total", "Turns that ended with an error.", registry=REGISTRY)

RESERVE = Gauge(
    "walle_disk_reserve_bytes", "Bytes that are kept free for orders and reports.", registry=REGISTRY
)
DELETED = Counter(
    "walle_feature_rows_deleted_total", "Rows behind their limit.", ["feature"], registry=REGISTRY
)

EXPIRY = Gauge(
    "walle_expiry_days", "Days for which a role's signature or a certificate counts.", ["role"],
    registry=REGISTRY,
)  # fmt: skip


def expiry(days: dict[str, float]) -> None:
    """How long everything counts that expires."""
    for role, left in days.items():
        EXPIRY.labels(role).set(left)


TUNNEL = Gauge("walle_tunnel", "The sink's figures since it was started.", ["figure"], registry=REGISTRY)


def tunnel(stats: dict[str, float]) -> None:
    """What the sink tells of itself."""
    for name, value in stats.items():
        TUNNEL.labels(name).set(float(value))


CLOUD_PHASE = Gauge(
    "walle_cloud_phase", "Questions, answers, failures and latencies of the cloud phase.", ["figure"],
    registry=REGISTRY,
)  # fmt: skip


def cloud_phase(stats: dict[str, float]) -> None:
    """What the cloud phase tells of itself."""
    for name, value in stats.items():
        CLOUD_PHASE.labels(name).set(float(value))


def text() -> bytes:
    """Everything, as Prometheus reads it."""
    return generate_latest(REGISTRY)
