"""No request made up from the OpenAPI document of the admin API is answered with a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cloud.servers import LocalServer, opened_server
from hypothesis import HealthCheck, Phase, given, seed, settings

schemathesis = pytest.importorskip("schemathesis", reason="no package 'schemathesis' (the extra [dev])")

SEED = 20261123
EXAMPLES = 12  # per route; 500 of them found nothing more


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with opened_server(tmp_path_factory.mktemp("made-up")) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def test_no_answer_is_a_500(local: LocalServer) -> None:
    print(f"seed {SEED}")
    schema = schemathesis.openapi.from_dict(local.ask("GET", "/api/v1/openapi.json").json())
    asked: dict[str, int] = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path not in ("/api/v1/logout", "/api/v1/login"):  # ends our session; slow by design
            asked[operation.label] = ask_often(local, operation)
    assert len(asked) > 30 and sum(asked.values()) > 5 * len(asked)


def ask_often(local: LocalServer, operation: Any) -> int:
    count = 0

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        nonlocal count
        count += 1
        reply = send(local, case)
        told = (operation.label, case.path_parameters, case.query, case.body, reply.text)
        assert reply.status_code < 500, told

    ask()
    return count


def send(local: LocalServer, case: Any) -> Any:
    words = case.as_transport_kwargs(base_url="http://server")
    words.pop("cookies", None)
    return local.ask(words.pop("method"), words.pop("url"), local.admin, **words)
