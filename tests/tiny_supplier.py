"""The few records that the tests of de-identification make, for the privacy tests too."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def load() -> ModuleType:
    """The module tests/unit/deid/conftest.py, which builds them."""
    path = Path(__file__).resolve().parent / "unit" / "deid" / "conftest.py"
    loaded = importlib.util.spec_from_file_location("tiny_supplier", path)
    assert loaded is not None
    assert loaded.loader is not None
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    return module
