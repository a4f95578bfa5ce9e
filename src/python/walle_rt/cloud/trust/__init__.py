"""Trust: what devices may believe, by keys and signed lists of task versions (The Update Framework).

The offline keys of ``root`` and ``targets`` say which keys count; a key per scenario says which versions of
its tasks are authentic; the online keys of ``snapshot`` and ``timestamp`` say what is current, and the online
``director`` chooses among what is authentic. docs/concepts/trust.md tells who can do what with a stolen key.
``authority`` says which devices are the server's own.
"""

from .keys import KeyFolder, Scheme
from .listing import Version
from .repository import TaskRepository
from .signatures import Level, Signature, renew_due, signatures
from .signing import Expiry
from .team import first_role, next_role, renewed_role

__all__ = [
    "Expiry",
    "KeyFolder",
    "Level",
    "Scheme",
    "Signature",
    "TaskRepository",
    "Version",
    "first_role",
    "next_role",
    "renew_due",
    "renewed_role",
    "signatures",
]
