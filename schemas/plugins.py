"""The file name is the registration: a plug-in folder is listed, imported by name, and ONE exported object is taken."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import TypeVar

from schemas.errors import WorldError

T = TypeVar("T")


def plugin_names(package: str) -> list[str]:
    """Names of the plug-in files of `package` (dotted), sorted; private names (`_x`) are helpers, not plug-ins."""
    module = importlib.import_module(package)
    return sorted(m.name for m in pkgutil.iter_modules(module.__path__) if not m.name.startswith("_"))


def load_plugin(package: str, name: str, export: str, kind: type[T]) -> T:
    """The object `export` of `package.name`, checked to be a `kind`.

    Raises WorldError with a "did you mean" for an unknown name, a missing export or a wrong type.
    """
    names = plugin_names(package)
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise WorldError(f"{package} has no plug-in {name!r}{hint} (there: {', '.join(names)})")
    module = importlib.import_module(f"{package}.{name}")
    found = getattr(module, export, None)
    if not isinstance(found, kind):
        what = "nothing" if found is None else type(found).__name__
        raise WorldError(f"{package}/{name}.py must export {export} as {kind.__name__}, found {what}")
    return found


def load_plugins(package: str, export: str, kind: type[T]) -> dict[str, T]:
    """Every plug-in of `package` by name, in sorted order."""
    return {name: load_plugin(package, name, export, kind) for name in plugin_names(package)}
