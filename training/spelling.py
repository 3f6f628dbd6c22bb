"""The grammar's calls as JSON text, and the text as token ids: which ids may come next.

At each point of a call stands a choice between texts (the tool, an argument with its value, a sentence of a message). Each is
encoded alone, and together they are a trie: its children are the legal ids. A text holds what follows its value (`, ` or `}`), so
none is the beginning of another ("59" and "590"); where the tokens of one nevertheless begin another's, the later is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from training.chat import Memory
from training.grammar import FORMS_PER_MESSAGE, Parameter, Turn
from training.messages import CallForm, as_json
from training.tokens import END, SKIP


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands: the symbols written so far."""

    symbols: tuple[str, ...] = ()
    done: bool = False


@dataclass(slots=True)
class Node:
    """A node of the trie of one choice."""

    children: dict[int, Node] = field(default_factory=dict)
    place: Place | None = None
    """Where the call stands then; set at leaves alone."""

    def at(self, ids: Sequence[int]) -> Place | None:
        """The leaf at the end of this path."""
        node: Node | None = self
        for token in ids:
            node = node.children.get(token) if node is not None else None
        return node.place if node is not None else None


def trie(choices: Iterable[tuple[str, Place]], encode: Callable[[str], Sequence[int]]) -> Node:
    """The trie of texts under `encode`."""
    root = Node()
    for text, place in choices:
        ids = encode(text)
        if not _apart(root, ids):
            continue
        node = root
        for token in ids:
            node = node.children.setdefault(token, Node())
        node.place = place
    return root


def _apart(root: Node, ids: Sequence[int]) -> bool:
    """True if neither these ids nor those of a text in the trie begin the other."""
    node = root
    for token in ids:
        if node.place is not None:
            return False
        if token not in node.children:
            return True
        node = node.children[token]
    return False


def choices(turn: Turn, memory: Memory, form: CallForm, place: Place) -> list[tuple[str, Place]]:
    """(text, where the call stands then) of everything that may be written at `place`."""
    if not place.symbols:
        return [found for tool in turn.options for found in _tools(turn, form, tool)]
    tool = place.symbols[0]
    parameters, options = turn.grammar.tools[tool[2:]], turn.options[tool]
    index = _argument(parameters, place.symbols)
    if index < 0:
        return _more(turn, memory, options, place, -index - 1)
    out: list[tuple[str, Place]] = []
    skipped: tuple[str, ...] = ()
    for number in range(index, len(parameters)):
        parameter = parameters[number]
        key = f"{as_json(parameter.name)}: "
        before = (*place.symbols, *skipped)
        if parameter.several:
            begin = '"' if parameter.kind == "message" else "{"
            out += [(f"{key}{begin}{text}", then) for text, then in _more(turn, memory, options, Place(before), number)]
        else:
            for symbol in options[number]:
                if symbol != SKIP:
                    text = f"{key}{as_json(_value(symbol, memory))}"
                    out += [(text + tail, then) for tail, then in _tails(options[number + 1 :], (*before, symbol))]
        if SKIP not in options[number]:
            break
        skipped = (*skipped, SKIP)
    return out


def _tools(turn: Turn, form: CallForm, tool: str) -> list[tuple[str, Place]]:
    options = turn.options[tool]
    text = f"{form.before}{tool[2:]}{form.between}"
    out = [(f"{text}{{", Place((tool,)))] if any(symbols != [SKIP] for symbols in options) else []
    if all(SKIP in symbols for symbols in options):
        out.append((f"{text}{{}}", Place((tool, *(SKIP for _ in options)), done=True)))
    return out


def _tails(rest: Sequence[Sequence[str]], symbols: tuple[str, ...]) -> list[tuple[str, Place]]:
    """How the text goes on behind a value: another argument of those in `rest`, or the end of the call."""
    out = [(", ", Place(symbols))] if any(set(options) != {SKIP} for options in rest) else []
    if all(SKIP in options for options in rest):
        out.append(("}", Place((*symbols, *(SKIP for _ in rest)), done=True)))
    return out


def _more(turn: Turn, memory: Memory, options: Sequence[Sequence[str]], place: Place, number: int) -> list[tuple[str, Place]]:
    """The next part of argument `number`, a sentence of a message or a field of an object, with what follows it."""
    if turn.grammar.tools[place.symbols[0][2:]][number].kind == "message":
        return _sentences(turn, options, place, number)
    return _fields(memory, options, place, number)


def _fields(memory: Memory, options: Sequence[Sequence[str]], place: Place, number: int) -> list[tuple[str, Place]]:
    """The next field of the object that is argument `number`, with what follows it."""
    left = [symbol for symbol in options[number] if symbol not in (SKIP, *_tail_of(place.symbols, "k:"))]
    out: list[tuple[str, Place]] = []
    for symbol in left:
        text = f"{as_json(symbol[2:])}: {as_json(memory.fields[symbol[2:]])}"
        if len(left) > 1:
            out.append((f"{text}, ", Place((*place.symbols, symbol))))
        tails = _tails(options[number + 1 :], (*place.symbols, symbol, END))
        out += [(f"{text}}}{tail}", then) for tail, then in tails]
    return out


def _sentences(turn: Turn, options: Sequence[Sequence[str]], place: Place, number: int) -> list[tuple[str, Place]]:
    """The next sentence of the message that is argument `number`, with what follows it."""
    written = _tail_of(place.symbols, "f:")
    out: list[tuple[str, Place]] = []
    for symbol in options[number]:
        if symbol in (SKIP, *written):
            continue
        text = as_json(turn.grammar.forms[symbol])[1:-1]
        if len(written) + 1 < FORMS_PER_MESSAGE:
            out.append((f"{text} ", Place((*place.symbols, symbol))))
        tails = _tails(options[number + 1 :], (*place.symbols, symbol, END))
        out += [(f'{text}"{tail}', then) for tail, then in tails]
    return out


def _tail_of(symbols: Sequence[str], kind: str) -> list[str]:
    """The sentences ("f:") or fields ("k:") that are being written; none where none is."""
    out: list[str] = []
    for symbol in reversed(symbols):
        if not symbol.startswith(kind):
            break
        out.append(symbol)
    return out


def _argument(parameters: Sequence[Parameter], symbols: Sequence[str]) -> int:
    """Index of the next argument, or -1 - index of the message or object in whose midst `symbols` end."""
    position, index = 1, 0
    while position < len(symbols):
        if parameters[index].several and symbols[position] != SKIP:
            while position < len(symbols) and symbols[position] != END:
                position += 1
            if position >= len(symbols):
                return -1 - index
        position += 1
        index += 1
    return index


def _value(symbol: str, memory: Memory) -> object:
    value: object = memory.shown[symbol] if symbol.startswith("@") else json.loads(symbol[2:])
    return value
