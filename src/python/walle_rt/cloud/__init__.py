"""The server's side: what signs, releases and receives. Needs the extra ``[cloud]``.

Nothing that runs on a device imports this package (``tools/check_imports.py`` looks).
"""

from .._core.policy import Plan
from .piggyback import Piggyback

__all__ = ["Piggyback", "Plan"]
