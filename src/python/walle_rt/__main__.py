"""``python -m walle_rt``: the command ``walle``."""

from .cli.main import main

main()
