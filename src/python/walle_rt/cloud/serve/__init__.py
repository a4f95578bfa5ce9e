"""The process: uvicorn and the release loop, TLS, log lines. ``walle serve`` begins here."""
