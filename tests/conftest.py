"""Options that pytest must know before it has looked into the folders they belong to."""

from __future__ import annotations

from pathlib import Path

import pytest
from skips import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]  # in CI: which skips stand

# Tests that own the machine: servers and brokers with their deadlines, processes that are killed, processor
# time, memory of a process, worker processes for both cores. They run by themselves (mark `serial`); all
# others run beside each other, a file at a time.
SERIAL = (
    "conformance",
    "install",
    "python/bench",
    "python/cloud/test_cloud_phase.py",
    "python/cloud/test_device_certificates.py",
    "python/cloud/test_kills.py",
    "python/cloud/test_loop.py",
    "python/cloud/test_release_server.py",
    "python/cloud/test_server_child.py",
    "python/cloud/test_tls.py",
    "python/cloud/test_tunnel.py",
    "python/cloud/test_tunnel_end.py",
    "python/cloud/test_tunnel_interop.py",
    "python/cloud/test_tunnel_secrets.py",
    "python/device/test_faults.py",
    "python/device/test_process_died.py",
    "python/test_explain.py",
    "python/test_model_memory.py",
    "python/test_run_options.py",
    "python/test_session_exit.py",
    "python/vm/test_coexistence.py",
    "python/vm/test_exit.py",
    "python/vm/test_fault.py",
    "python/vm/test_host.py",
    "python/vm/test_misbehaving.py",
    "python/vm/test_outrun.py",
    "vm_attacks",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs by itself."""
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix() if item.path.is_relative_to(root) else ""
        if any(place == name or place.startswith(f"{name}/") for name in SERIAL):
            item.add_marker(pytest.mark.serial)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("vm").addoption(
        "--vm-attacks", type=int, default=7, metavar="N", help="every Nth attack on the VM (1: all of them)"
    )
    group = parser.getgroup("conformance")
    group.addoption(
        "--conformance-matrix", action="store_true", help="every switch also on every instruction set"
    )
    group.addoption(
        "--conformance-every", type=int, default=1, metavar="N", help="every Nth case of the ONNX suites"
    )
    group.addoption("--update-passing", action="store_true", help="add newly passing cases to the lists")
    group.addoption(
        "--conformance-engine", default="walle", help="walle, or onnxruntime to check the suite's reader"
    )


@pytest.fixture(scope="session")
def measured_machine() -> None:
    """Before peaks of processes are compared: the first session without a kept profile measures the machine.

    That takes tens of megabytes, once: in whichever process is the first after a build.
    """
    import onnx.parser

    import walle_rt

    text = '<ir_version: 8, opset_import: ["": 17]> f (float[2, 2] x) => (float[2, 2] y) { y = MatMul(x, x) }'
    walle_rt.load(onnx.parser.parse_model(text)).session(threads=1).prepare({"x": (2, 2)})
