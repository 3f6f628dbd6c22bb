"""Mutants of a source file: one comparison, condition, constant, call or statement of a function turned into another.

Left alone: what stands outside functions, words (texts, names), and the functions that a caller says are out of the question.

A mutant is named by what it changes and not by where that stands, so that an edit elsewhere in the file leaves its name alone and
an edit of the very statement takes the name away.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
LONGEST = 120
"""Letters of a statement that a mutant's name holds."""
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class SourceMutant:
    """A whole module with one thing changed."""

    name: str
    """"module function: statement | expression, what", e.g. "rewards.events efficiency: if beyond <= 0 | LtE -> Lt", or the name
    of a written mutant. Alike ones of a function are told apart by "(1 of 2)"."""
    module: str
    source: str
    function: str = ""
    """Function in which the change is, with its class: "Stepper._waste"."""
    lines: tuple[int, int] = (0, 0)
    """First and last line of the changed statement in the original."""

    @property
    def place(self) -> str:
        """ "module:line", or the module alone for a written mutant."""
        return f"{self.module}:{self.lines[0]}" if self.lines[0] else self.module


def mutants(module: str, source: str) -> Iterator[SourceMutant]:
    """Every mutant of `source`, by function; no two have the same name."""
    made = list(_mutants(module, source))
    total, seen = Counter(m.name for m in made), Counter[str]()
    for mutant in made:
        name, seen[mutant.name] = mutant.name, seen[mutant.name] + 1
        yield replace(mutant, name=f"{name} ({seen[name]} of {total[name]})") if total[name] > 1 else mutant


def _mutants(module: str, source: str) -> Iterator[SourceMutant]:
    tree = ast.parse(source)
    for function, path in _functions(tree):
        for statement in _statements(function):
            for what, changed in _changes(statement):
                text = _with(tree, statement, changed)
                if text is not None:
                    lines = (statement.lineno, getattr(_head(statement), "end_lineno", statement.lineno) or statement.lineno)
                    yield SourceMutant(f"{module} {path}: {_words(statement)} | {what}", module, text, path, lines)


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node, node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield inner, f"{node.name}.{inner.name}"


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function:
            yield node


def _head(statement: ast.stmt) -> ast.AST:
    """The part of a compound statement that is not its body."""
    for name in ("test", "iter"):
        if hasattr(statement, name):
            return getattr(statement, name)  # type: ignore[no-any-return]
    return statement


def _words(statement: ast.stmt) -> str:
    """The statement on one line, without its body; a long one is cut short and told by a digest."""
    bare = copy.copy(statement)
    for name in ("body", "orelse", "handlers", "finalbody"):
        if hasattr(bare, name):
            setattr(bare, name, [])
    words = " ".join(ast.unparse(bare).split()).removesuffix(":")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 20]}... {hashlib.sha256(words.encode()).hexdigest()[:8]}"


def _own(statement: ast.stmt) -> Iterator[tuple[ast.AST, str, int | None]]:
    """(parent, field, index) of each expression that belongs to the statement itself, not to a statement inside it."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        for name, value in ast.iter_fields(node):
            for index, inner in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(inner, ast.AST) and not isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case):
                    yield node, name, index
                    if not isinstance(inner, ast.JoinedStr):  # words
                        todo.append(inner)


def _changes(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt | None]]:
    """(what, the statement changed) of each mutant; None for the statement left out."""
    places = list(_own(statement))
    for at, (parent, name, index) in enumerate(places):
        value = getattr(parent, name)
        node = value[index] if index is not None else value
        for what, other in _others(node):
            changed = copy.deepcopy(statement)
            twin, twin_name, twin_index = list(_own(changed))[at]
            if twin_index is None:
                setattr(twin, twin_name, other)
            else:
                getattr(twin, twin_name)[twin_index] = other
            of = "" if isinstance(node, ast.Constant) or node is _head(statement) else f"{ast.unparse(node)}, "
            yield f"{of}{what}", changed
    if isinstance(statement, ast.If | ast.While) and not isinstance(statement.test, ast.Compare | ast.UnaryOp):
        changed = copy.deepcopy(statement)
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        yield "not (condition)", changed
    gone = isinstance(statement, ast.AugAssign | ast.Continue | ast.Break | ast.Delete)
    if gone or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        yield f"without {type(statement).__name__}", None


def _others(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                changed = copy.deepcopy(node)
                changed.ops[at] = other()
                yield f"{type(op).__name__} -> {other.__name__}", changed
    elif isinstance(node, ast.BoolOp):
        yield "and <-> or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), copy.deepcopy(node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "without not", copy.deepcopy(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        other_operator = OPERATORS[type(node.op)]
        yield (
            f"{type(node.op).__name__} -> {other_operator.__name__}",
            ast.BinOp(copy.deepcopy(node.left), other_operator(), copy.deepcopy(node.right)),
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"{node.value} -> {node.value + 1}", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        changed_call = copy.deepcopy(node)
        changed_call.func = ast.Name(CALLS[node.func.id], ast.Load())
        yield f"{node.func.id} -> {CALLS[node.func.id]}", changed_call


def _with(tree: ast.Module, statement: ast.stmt, changed: ast.stmt | None) -> str | None:
    """Source of `tree` with `statement` exchanged; None where that is no program or the same one."""
    place = (statement.lineno, statement.col_offset, type(statement))
    other = copy.deepcopy(tree)
    for node in ast.walk(other):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            for at, inner in enumerate(body if isinstance(body, list) else ()):
                if isinstance(inner, ast.stmt) and (inner.lineno, inner.col_offset, type(inner)) == place:
                    body[at] = ast.Pass() if changed is None else changed  # type: ignore[index]
                    text = ast.unparse(ast.fix_missing_locations(other))
                    return text if text != ast.unparse(tree) else None
    return None
