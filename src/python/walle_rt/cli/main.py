"""The command ``walle``: one module per command, found by name."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

EXTRA_MISSING = (
    "walle needs the packages typer and rich; expected the extra [cli] to be installed [at walle]. "
    "Next: pip install 'walle_rt[cli]'"
)
# Groups of commands that other parts of walle_rt bring along: module walle_rt.cli.<name> with a typer app.
GROUPS = ("task", "stream", "serve", "device", "demo", "tune", "vm")


def main() -> None:
    """Entry point of the console script."""
    try:
        import typer
    except ImportError:
        sys.stderr.write(EXTRA_MISSING + "\n")
        raise SystemExit(5) from None

    from .. import __version__
    from . import bench, convert, doctor, inspect, run
    from .common import EXIT_HELP

    app = typer.Typer(
        name="walle",
        help="Convert, run, look into and measure models; author and run tasks.",
        epilog=EXIT_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def print_version(value: bool) -> None:
        if value:
            sys.stdout.write(f"walle {__version__}\n")
            raise typer.Exit()

    @app.callback()
    def root(
        version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Convert, run, look into and measure models; author and run tasks."""

    for module in (convert, run, inspect, bench, doctor):
        app.command(name=module.__name__.rsplit(".", 1)[1], help=module.__doc__)(module.main)
    for name in GROUPS:
        try:
            group = import_module(f"walle_rt.cli.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"walle_rt.cli.{name}":
                sys.stderr.write(f"walle {name}: not available, because '{error.name}' is not installed\n")
            continue
        if hasattr(group, "app"):
            app.add_typer(group.app, name=name)
    app()


if __name__ == "__main__":
    main()
