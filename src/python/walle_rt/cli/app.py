"""The command tree: one module per command, groups of other parts found by name."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from . import backup, bench, convert, demo, device_code, doctor, inspect, quantize, restore, run, serve
from .exits import EXIT_HELP

# Groups of commands that other parts of walle_rt bring along: module walle_rt.cli.<name> with a typer app.
GROUPS = ("task", "stream", "device", "tune", "vm", "keys", "operator", "release")


def print_version(value: bool) -> None:
    """--version."""
    if value:
        sys.stdout.write(f"walle {__version__}\n")
        raise typer.Exit()


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Convert, run, look into and measure models; author and run tasks."""


def build() -> typer.Typer:
    """All commands that are installed."""
    app = typer.Typer(
        name="walle",
        epilog=EXIT_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for module in (convert, quantize, run, inspect, bench, doctor, serve, backup, restore, device_code, demo):
        name = module.__name__.rsplit(".", 1)[1].replace("_", "-")
        app.command(name=name, help=module.__doc__)(module.main)
    for name in GROUPS:
        try:
            group = import_module(f"walle_rt.cli.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"walle_rt.cli.{name}":
                sys.stderr.write(f"walle {name}: not available, because '{error.name}' is not installed\n")
            continue
        if hasattr(group, "app"):
            app.add_typer(group.app, name=name)
    return app
