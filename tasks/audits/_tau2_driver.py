"""Runs in a process of its own: builds a domain of a tau2-bench checkout, replays calls on its database, says what came of them.

It is started by path, without recordgym on its search path: `python -I _tau2_driver.py CHECKOUT DOMAIN`, one JSON request a line
on stdin, one JSON answer a line on stdout. Only the domain's tools and data models are imported; libraries that they name and
that are not installed (LLM clients, loggers) are replaced by stand-ins, listed in the first answer. Each replay happens in a
forked copy of the loaded database, so no replay sees another.

What is replayed, and how it is scored, follows src/tau2/environment/environment.py (set_state, get_response, make_tool_call)
and src/tau2/evaluator/evaluator_env.py: a gold call that raises is swallowed there, an agent's call that raises is an error
message, and an agent's calls of tools that do not change the state are not replayed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import random
import resource
import sys
import tomllib
import types
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

MAX_ANSWER = 60_000
"""Characters of a tool's answer that are sent back."""
BLOCKED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.remove", "os.rename", "os.rmdir")
"""Audit events that end in PermissionError (as does writing a file)."""


# --- libraries that are not there -----------------------------------------------------------------------------------------


class _Nothing:
    """Stands for anything of a library that is not installed: callable, indexable, false, and never a value that is compared."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()

    def __bool__(self) -> bool:
        return False


class _Nested(dict[str, Any]):
    """What `addict.Dict` is used for: an update that goes into nested dictionaries."""

    def update(self, other: Any = (), /, **_: Any) -> None:
        for key, value in dict(other).items():
            here = self.get(key)
            if isinstance(here, dict) and isinstance(value, dict):
                merged = _Nested(here)
                merged.update(value)
                self[key] = merged
            else:
                self[key] = value

    def to_dict(self) -> dict[str, Any]:
        return {k: _Nested(v).to_dict() if isinstance(v, dict) else v for k, v in self.items()}


def _load_toml(file: Any) -> dict[str, Any]:
    return tomllib.loads(file.read())


KNOWN: dict[str, dict[str, Any]] = {
    "addict": {"Dict": _Nested},
    "toml": {"load": _load_toml, "loads": tomllib.loads},
    "dotenv": {"load_dotenv": lambda *_, **__: False},
}
"""Libraries whose work a domain needs, as far as it needs it."""


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing if name[:1].isupper() else _Nothing()


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on the search path: answers for a library that nobody else has, where the checkout's code asks for it."""

    def __init__(self, source: Path) -> None:
        self.source = str(source)
        self.used: set[str] = set()

    def _asked_by_the_checkout(self) -> bool:
        frame = sys._getframe(2)
        while frame.f_back is not None and ("importlib" in frame.f_code.co_filename):
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self.source)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top == "tau2" or (top not in self.used and (top != fullname or not self._asked_by_the_checkout())):
            return None
        self.used.add(top)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _StandIn(spec.name)
        module.__dict__.update(KNOWN.get(spec.name, {}))
        return module

    def exec_module(self, module: types.ModuleType) -> None: ...


def _bare(name: str, folder: Path) -> None:
    """A package without its `__init__.py`, which would import the whole benchmark."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and isinstance(arguments[0], str | bytes) and set(str(arguments[1])) & set("wax+")
    if writes or event.startswith(BLOCKED):
        raise PermissionError(f"{event} is not allowed in an audit")


# --- the domain -----------------------------------------------------------------------------------------------------------


class Domain:
    """One domain of the checkout, loaded once."""

    def __init__(self, root: Path, name: str) -> None:
        source = root / "src" / "tau2"
        sys.path.insert(0, str(source.parent))
        _bare("tau2", source)
        _bare("tau2.domains", source / "domains")
        _bare(f"tau2.domains.{name}", source / "domains" / name)
        self.build: Callable[[], Any] = importlib.import_module(f"tau2.domains.{name}.environment").get_environment
        self.task_model: Any = importlib.import_module("tau2.data_model.tasks").Task
        self.call_model: Any = importlib.import_module("tau2.data_model.message").ToolCall
        self.environment = self.build()
        self.exact: dict[str, str] = {}
        """Digest of a state as it is dumped fast -> the checkout's own hashes of it."""

    def kits(self) -> list[tuple[str, Any]]:
        found = [("assistant", self.environment.tools), ("user", self.environment.user_tools)]
        return [(who, kit) for who, kit in found if kit is not None]

    def describe(self) -> dict[str, Any]:
        tools = [_tool(who, kit, name) for who, kit in self.kits() for name in sorted(kit.tools)]
        return {
            "tools": tools,
            "policy": str(self.environment.policy),
            "customers": _customers(getattr(self.environment.tools, "db", None)),
        }


def _mutates(kit: Any, name: str) -> bool:
    """As the checkout's replay asks; before it had the question, what is declared a write."""
    if hasattr(kit, "tool_mutates_state"):
        return bool(kit.tool_mutates_state(name))
    return _type(kit, name) == "write"


def _type(kit: Any, name: str) -> str:
    return str(getattr(kit.tool_type(name), "value", kit.tool_type(name)))


def _tool(who: str, kit: Any, name: str) -> dict[str, Any]:
    parameters = {}
    for parameter in inspect.signature(kit.tools[name]).parameters.values():
        parameters[parameter.name] = {
            "kind": str(parameter.annotation).replace("<class '", "").replace("'>", ""),
            "required": parameter.default is inspect.Parameter.empty,
        }
    return {"name": name, "by": who, "type": _type(kit, name), "writes": _mutates(kit, name), "parameters": parameters}


def _customers(db: Any) -> list[dict[str, Any]]:
    """Id and spoken names of every person whom the database calls a user or a customer."""
    found = []
    for kind in ("users", "customers"):
        held = getattr(db, kind, None) or {}
        rows = held.items() if isinstance(held, dict) else ((None, row) for row in held)
        for key, row in rows:
            data = row.model_dump(mode="json") if hasattr(row, "model_dump") else row if isinstance(row, dict) else {}
            ident = str(key if key is not None else data.get("customer_id") or data.get("user_id"))
            name = data.get("full_name") or data.get("name") or ""
            if isinstance(name, dict):
                name = f"{name.get('first_name', '')} {name.get('last_name', '')}"
            address = data.get("address")
            zipcode = str(address.get("zip", "")) if isinstance(address, dict) else ""
            found.append({"id": ident, "name": str(name).strip(), "zip": zipcode, "phone": str(data.get("phone_number") or "")})
    return sorted(found, key=lambda c: c["id"])


# --- replays --------------------------------------------------------------------------------------------------------------


def _start(domain: Domain, task: Any) -> None:
    """The state before the first call, as `set_state` makes it."""
    initial = task.initial_state
    domain.environment.set_state(
        initialization_data=initial.initialization_data if initial else None,
        initialization_actions=initial.initialization_actions if initial else None,
        message_history=list((initial.message_history if initial else None) or []),
    )


def _fast(domain: Domain) -> str:
    digest = sha256()
    for _, kit in domain.kits():
        digest.update(b"\0" + (kit.db.model_dump_json().encode() if kit.db is not None else b"-"))
    return digest.hexdigest()


def _exact(domain: Domain) -> str:
    return f"{domain.environment.get_db_hash()}/{domain.environment.get_user_db_hash()}"


def _state(domain: Domain) -> dict[str, str]:
    fast = _fast(domain)
    return {"fast": fast, "exact": domain.exact.get(fast) or _exact(domain)}


def _has(domain: Domain, name: str) -> bool:
    return any(name in kit.tools for _, kit in domain.kits())


def _changes(domain: Domain, name: str) -> bool:
    return next((_mutates(kit, name) for _, kit in domain.kits() if name in kit.tools), True)


def _gold(domain: Domain, task: Any) -> dict[str, Any]:
    """The gold calls as the grader replays them: what raises is swallowed."""
    errors = []
    for at, action in enumerate(task.evaluation_criteria.actions or []):
        try:
            domain.environment.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
        except Exception as error:  # as theirs, but counted
            errors.append({"at": at, "tool": action.name, "error": f"{type(error).__name__}: {error}"[:200]})
    return {"errors": errors, **_state(domain)}


def _executed(domain: Domain, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls that the grader replays: of tools that exist and change the state. A `walk` makes every call, as in a live
    episode."""
    return [c for c in run["calls"] if run.get("walk") or (_has(domain, c["name"]) and _changes(domain, c["name"]))]


def _play(domain: Domain, task: Any, run: dict[str, Any]) -> dict[str, Any]:
    """An agent's calls, what each answered (in a walk), the state and the assertions at the end."""
    calls = []
    for call in _executed(domain, run):
        message = domain.call_model(
            id="", name=call["name"], arguments=call["arguments"], requestor=call.get("requestor") or "assistant"
        )
        answer = domain.environment.get_response(message)
        calls.append({"ok": not answer.error, "answer": str(answer.content)[:MAX_ANSWER] if run.get("walk") else ""})
    domain.environment.sync_tools()
    state = _state(domain)
    held = [_assertion(domain, one) for one in task.evaluation_criteria.env_assertions or []]
    return {"calls": calls, "assertions": held, **state}


def _assertion(domain: Domain, assertion: Any) -> bool:
    """False also where it raises (a record that it asks for is not there): their grader ends there, without a reward."""
    said = _tried(lambda: domain.environment.run_env_assertion(assertion, raise_assertion_error=False))
    return said is True


def _matched(domain: Domain, task: Any, calls: Sequence[dict[str, Any]]) -> list[bool]:
    """For each gold call, whether one of the calls made (those of the history included) is it."""
    made = [domain.call_model(id="", name=c["name"], arguments=c["arguments"]) for c in calls]
    for message in (task.initial_state.message_history if task.initial_state else None) or []:
        made += getattr(message, "tool_calls", None) or []
    return [any(gold.compare_with_tool_call(one) for one in made) for gold in task.evaluation_criteria.actions or []]


def _tried(work: Callable[[], Any]) -> Any:
    """The result of `work`, or {"fault": ...}: the parent turns it into an error that names the task."""
    try:
        return work()
    except Exception as error:  # any: it is somebody else's code
        return {"fault": f"{type(error).__name__}: {error}"[:300]}


def _forked(work: Callable[[], Any]) -> Any:
    """The result of `work`, done in a copy of this process that then ends; {"fault": ...} if it raised."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            random.seed(0)
            left = json.dumps(_tried(work), default=str).encode()
            while left:
                left = left[os.write(into, left) :]
        finally:
            os._exit(0)  # whatever happens, the copy never goes on with the parent's work
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"fault": "the process of the replay ended without an answer"}


def _task(domain: Domain, request: dict[str, Any]) -> dict[str, Any]:
    """The gold state three times, the start, and each of the runs."""
    task = domain.task_model.model_validate(request["task"])

    def from_start(work: Callable[[], Any]) -> Any:
        def begin() -> Any:
            _start(domain, task)
            return work()

        return _forked(begin)

    def kept(found: Any) -> Any:
        if "exact" in found:
            domain.exact[found["fast"]] = found["exact"]
        return found

    domain.exact.clear()
    start = kept(from_start(lambda: _state(domain)))
    gold = [kept(from_start(lambda: _gold(domain, task))) for _ in range(int(request.get("repeat", 1)))]
    played: dict[str, Any] = {}
    runs = []
    for run in request["runs"]:
        key = json.dumps([run.get("walk", False), _executed(domain, run)], sort_keys=True)
        if key not in played:
            played[key] = kept(from_start(partial(_play, domain, task, run)))
        runs.append({**played[key], "actions": _matched(domain, task, run["calls"])})
    return {"start": start, "gold": gold, "runs": runs}


def _isolated(domain: Domain, request: dict[str, Any]) -> dict[str, Any]:
    """Whether two environments of this process share state: the second's hash, before and after calls on the first."""
    task = domain.task_model.model_validate(request["task"])

    def work() -> dict[str, Any]:
        first, domain.environment = domain.environment, domain.build()
        before = [_exact(domain)]
        domain.environment = first
        before.append(_exact(domain))
        second = domain.build()
        _start(domain, task)
        _gold(domain, task)
        after_first = _exact(domain)
        domain.environment = second
        return {"same_start": before[0] == before[1], "untouched": _exact(domain) == before[0], "moved": after_first != before[1]}

    return dict(_forked(work))


def main(root: Path, name: str) -> None:
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the checkout prints goes to stderr
    os.environ["TAU2_DATA_DIR"] = str(root / "data")
    sys.addaudithook(_forbid)
    stand_ins = _StandIns(root / "src" / "tau2")
    sys.meta_path.append(stand_ins)
    loaded: list[Domain] = []

    def load() -> dict[str, Any]:
        loaded.append(Domain(root, name))
        return loaded[0].describe()

    first = {**_tried(load), "stand_ins": sorted(stand_ins.used)}
    answers.write(json.dumps(first) + "\n")
    answers.flush()
    if "fault" in first:
        return
    work = {"task": _task, "isolated": _isolated}
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(_tried(lambda: work[request["do"]](loaded[0], request))) + "\n")  # noqa: B023 - called at once
        answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
