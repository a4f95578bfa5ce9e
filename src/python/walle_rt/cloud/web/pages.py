"""The dashboard: pages that the server renders. No script, no build step, plots as SVG."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
