"""Planted leaks: each kind a small pure function from a clean set to one with the leak in it.

Written from the semantics of leaks alone, by somebody who had not read the checks. A module here with a tuple PLANTS belongs to
the catalogue; a new kind is a new entry there.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.plants._planted import SECTIONS, Plant, Planted, UnplantableError


def catalogue() -> dict[str, Plant]:
    """Every kind by name, in the order of the modules."""
    found: dict[str, Plant] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")):
        for plant in getattr(importlib.import_module(f"{__name__}.{module}"), "PLANTS", ()):
            if plant.name in found:
                raise ValueError(f"two plants are called {plant.name!r}")
            if plant.section not in SECTIONS:
                raise ValueError(f"plant {plant.name!r}: section 8 has no kind {plant.section!r}")
            found[plant.name] = plant
    return found


__all__ = ["SECTIONS", "Plant", "Planted", "UnplantableError", "catalogue"]
