"""Names as types of requests: what a route takes and its OpenAPI document says is the rule of the kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from ..._core import names


@dataclass(frozen=True)
class Named:
    """Makes a text a name of this kind (docs/reference/names.md)."""

    kind: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Checked behind what the text itself is."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The rule, as far as a schema can say it."""
        return {**handler(schema), **names.schema(self.kind)}

    def _checked(self, name: str) -> str:
        return names.check(self.kind, name, "the request")


ScenarioName = Annotated[str, Named("scenario")]
TaskName = Annotated[str, Named("task")]
VersionName = Annotated[str, Named("version")]
ReleaseId = Annotated[str, Named("release")]
LoginName = Annotated[str, Named("login")]
TokenName = Annotated[str, Named("token")]
Label = Annotated[str, Named("label")]
DeviceId = Annotated[str, Named("device")]
Digest = Annotated[str, Named("sha256")]
