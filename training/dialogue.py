"""Any tokenizer and chat template as a codec: an episode is a conversation, an action one call as JSON text.

The system message holds the rules in force and the tools; the opening is the user's, an answer the tool's. Ids that were sampled
are kept: behind them stands, encoded alone, what the template writes between this call and the next.

Under the grammar a call is one of those that the small model could write (`spelling.py`), and ends with its last brace. Written
freely it ends with the template's end of a turn, or after `--action-tokens`; what is not exactly one call goes to the environment
as it is, which refuses it as it refuses any malformed action.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from environments.episode import tools_for
from schemas.episode import Observation, ToolCall
from schemas.errors import StageError
from schemas.files import read_json, sha256_json, write_json
from schemas.task import TaskSpec
from schemas.taskset import TaskSet
from training.chat import Inexpressible, Memory, decode_action, encode_action, observation_symbols, plain_words
from training.grammar import ToolGrammar, Turn
from training.messages import Template, as_json
from training.script import Grammars
from training.spelling import Node, Place, choices, trie
from training.tape import Tape
from training.tokens import Vocabulary

PAD = "<|pad|>"
"""Added where the tokenizer has no mark that could stand for padding."""
KEPT = 200_000
"""Texts whose ids are remembered."""
TASK = (
    "You work in a support desk and decide one case. Look up what you need, ask the requester for what no system shows, act, and "
    "close the case. One call at a time."
)


def system_text(task: TaskSpec) -> str:
    """The system message without the tools: what to do, and the rules in force."""
    rules = [f"- {f'{rule.document} {rule.clause}: ' if rule.document else ''}{rule.sentence}" for rule in task.rules]
    return "\n".join([TASK, "", "Rules in force:", *(rules or ["- none"])])


class ChatCodec:
    """The scripts of a run with a language model."""

    words: frozenset[int] = frozenset()

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        vocabulary: Vocabulary,
        *,
        template: str,
        size: int,
        context: int,
        action_tokens: int,
        free: bool,
    ) -> None:
        """`size`: rows of the model's embedding. Raises StageError for a tokenizer or template that cannot be used."""
        if tokenizer.eos_token_id is None:
            raise StageError("the tokenizer has no end token (eos); set one in its tokenizer_config.json")
        self.tokenizer, self.vocabulary, self.free = tokenizer, vocabulary, free
        self.template = Template(tokenizer, template)
        self.pad = padding(tokenizer, self.template.form.stop)
        self.size = max(size, len(tokenizer))
        self.room, self.limit = action_tokens, context
        self.grammars = Grammars(vocabulary)
        self._ids: dict[str, tuple[int, ...]] = {}
        form = self.template.form
        self.cue = self.encode(self.template.cue)
        ends = self.encode(form.stop)
        if len(ends) != 1:
            raise StageError(f"the template ends a turn with {form.stop!r}, which the tokenizer writes as {len(ends)} tokens")
        self.stop = ends[0]
        parts = (form.before, "get_order", f'{form.between}{{"order_id": ', '"ORDER_1A2B3C4D"}')
        joined = [token for part in parts for token in self.encode(part)]
        if self.text(joined) != "".join(parts):
            raise StageError(
                f"the tokenizer changes texts that are encoded in parts: {''.join(parts)!r} becomes {self.text(joined)!r}"
            )

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of a text alone."""
        if text not in self._ids:
            if len(self._ids) >= KEPT:
                self._ids.clear()
            self._ids[text] = tuple(self.tokenizer.encode(text, add_special_tokens=False))
        return self._ids[text]

    def text(self, ids: Sequence[int]) -> str:
        known = len(self.tokenizer)
        return str(
            self.tokenizer.decode(
                [token for token in ids if token < known], skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def open(self, taskset: TaskSet, task_id: str, seed: int | None, word_dropout: float = 0.0) -> ChatScript:
        task = taskset.tasks[task_id]
        tools = [tool.schema() for tool in tools_for(taskset, task).values()]
        return ChatScript(self, system_text(task), tools, self.grammars.of(taskset, task_id))

    def renamed(self, tape: Tape, chance: random.Random) -> Tape:
        return tape

    def digest(self) -> str:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        known = backend.to_str() if backend is not None else as_json(sorted(self.tokenizer.get_vocab().items()))
        return sha256_json([self.vocabulary.digest(), known, self.template.text, self.free, self.pad])

    def _settings(self) -> dict[str, Any]:
        return {
            "template": self.template.text,
            "size": self.size,
            "context": self.limit,
            "action_tokens": self.room,
            "free": self.free,
            "pad": self.tokenizer.convert_ids_to_tokens(self.pad),
            "ends_a_turn": self.template.form.stop,
            "calls": "the template's" if self.template.own_calls else "JSON in words",
            "answers_from": self.template.role,
        }

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / "vocabulary.json")
        self.tokenizer.save_pretrained(folder / "tokenizer")
        write_json(folder / "codec.json", self._settings() | {"sha256": self.digest()})

    @staticmethod
    def load(folder: Path) -> ChatCodec:
        """Raises StageError where a file is missing or what was saved does not give the same ids."""
        settings = read_json(folder / "codec.json")
        codec = ChatCodec(
            AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True),
            Vocabulary.load(folder / "vocabulary.json"),
            template=settings["template"],
            size=settings["size"],
            context=settings["context"],
            action_tokens=settings["action_tokens"],
            free=settings["free"],
        )
        if codec.digest() != settings["sha256"]:
            raise StageError(f"{folder / 'tokenizer'} no longer gives the token ids that the run was made with")
        return codec


def padding(tokenizer: PreTrainedTokenizerBase, stop: str) -> int:
    """The id that fills batches up: the tokenizer's own where that ends nothing, else another of its marks, else a new one.

    It stands behind everything that is read, so its embedding is of no account.
    """
    ends = {tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(stop)}
    own = tokenizer.pad_token_id
    if own is None or own in ends:
        marks = {str(token): index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
        free = [mark for mark, index in marks.items() if index not in ends and mark != tokenizer.bos_token]
        likely = sorted(free, key=lambda m: (not any(word in m for word in ("pad", "unk", "endoftext")), marks[m]))
        tokenizer.add_special_tokens({"pad_token": likely[0] if likely else PAD})
    return int(tokenizer.pad_token_id)


@dataclass(slots=True)
class ChatScript:
    """One episode as a conversation."""

    codec: ChatCodec
    system: str
    tools: list[dict[str, Any]]
    grammar: ToolGrammar
    memory: Memory = field(default_factory=Memory)
    turn: Turn = field(init=False)
    cue: tuple[int, ...] = field(init=False)
    cue_when_cut: tuple[int, ...] = field(init=False)
    ended: bool = True
    """The action that was decoded last holds the end of its turn; under the grammar, that is left to what is read next."""
    _walked: list[int] = field(default_factory=list)
    _nodes: list[Node] = field(default_factory=list)
    """Behind each prefix of `_walked`, where its action stands; the root first."""

    def __post_init__(self) -> None:
        self.cue = self.cue_when_cut = self.codec.cue

    def read(self, observation: Observation, source: str) -> list[int]:
        observation_symbols(observation, self.memory, self.codec.vocabulary, source)
        self.turn = self.grammar.turn(self.memory.shown, self.memory.fields)
        self._walked, self._nodes = [], []
        template = self.codec.template
        if source == "opening":
            return list(self.codec.tokenizer.encode(
                template.opening(self.system, self.tools, observation.text), add_special_tokens=False
            ))  # fmt: skip
        form = template.form
        behind = form.behind if self.ended else form.stop + form.behind
        if not self.codec.free:
            behind = form.after
        return list(self.codec.tokenizer.encode(behind + template.answer(observation.text), add_special_tokens=False))

    def legal(self, prefix: Sequence[int]) -> list[int] | None:
        if self.codec.free:
            return [] if prefix and (prefix[-1] == self.codec.stop or len(prefix) >= self.codec.room) else None
        return list(self._node(prefix).children)

    def _node(self, prefix: Sequence[int]) -> Node:
        """Where the action stands behind `prefix`; a node without children where it is complete."""
        if not self._nodes:
            self._nodes = [self._choice(Place())]
        if self._walked != list(prefix[: len(self._walked)]):
            self._walked, self._nodes = [], self._nodes[:1]
        for token in prefix[len(self._walked) :]:
            node = self._nodes[-1].children[token]
            if node.place is not None and not node.place.done:
                node = self._choice(node.place)
            self._walked.append(token)
            self._nodes.append(node)
        return self._nodes[len(prefix)]

    def _choice(self, place: Place) -> Node:
        return trie(choices(self.turn, self.memory, self.codec.template.form, place), self.codec.encode)

    def decode(self, prefix: Sequence[int]) -> ToolCall | str:
        if not self.codec.free:
            place = self._node(prefix).place
            if place is None or not place.done:
                raise ValueError(f"{len(prefix)} tokens are no whole action")
            return decode_action(place.symbols, self.memory, self.grammar)
        self.ended = bool(prefix) and prefix[-1] == self.codec.stop
        text = self.codec.text(prefix[:-1] if self.ended else prefix)
        found = self.codec.template.form.parse(text)
        return text if found is None else _call(*found, text)

    def symbols(self, call: ToolCall) -> list[str]:
        return plain_words(encode_action(call, self.memory, self.grammar))

    def spell(self, symbols: Sequence[str]) -> list[int]:
        if self.codec.free:
            call = decode_action(symbols, self.memory, self.grammar)
            text = self.codec.template.form.text(call.tool, call.arguments)
            ids = [*self.codec.encode(text), self.codec.stop]
            if len(ids) > self.codec.room:
                raise Inexpressible(f"{call.tool}: longer than --action-tokens {self.codec.room}")
            return ids
        wanted, place = tuple(symbols), Place()
        ids = []
        while not place.done:
            root = self._choice(place)
            there = choices(self.turn, self.memory, self.codec.template.form, place)
            # What ends the call first: after it, arguments that are left out are written, too.
            for text, then in sorted(there, key=lambda found: not found[1].done):
                fits = then.symbols == wanted[: len(then.symbols)] and then.done == (len(then.symbols) == len(wanted))
                written = self.codec.encode(text)
                if fits and root.at(written) == then:
                    ids += written
                    place = then
                    break
            else:
                raise Inexpressible(f"{' '.join(wanted[: len(place.symbols) + 1])}: has no text of its own")
        return ids


def _call(name: str, arguments: dict[str, Any], text: str) -> ToolCall | str:
    """The call, or its text where its values are none that a call may hold."""
    try:
        json.dumps(arguments, allow_nan=False)
        return ToolCall(tool=name, arguments=arguments)
    except (ValueError, RecursionError):
        return text
