"""HTTP: the admin API and the dashboard (FastAPI), and the device's hot path (plain ASGI)."""
