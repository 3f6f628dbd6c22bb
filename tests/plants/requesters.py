"""A requester who tells early, or who knows how it will end."""

from __future__ import annotations

from random import Random

from schemas.task import Fact, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, code_of, label_of
from tests.plants._planted import Plant, Planted
from tests.plants._words import resolution

SECTION = "requester knows"


def _asked(task: TaskSpec) -> list[int]:
    return [i for i, f in enumerate(task.requester.facts) if f.question and not f.volunteered]


def _changed(task: TaskSpec, at: int, **update: object) -> tuple[Fact, ...]:
    facts = list(task.requester.facts)
    facts[at] = facts[at].model_copy(update=update)
    return tuple(facts)


def volunteers(data: LeakInput, rng: Random) -> Planted:
    """What was told only when asked for is volunteered."""
    task = choose(data, rng, lambda t: bool(_asked(t)))
    facts = _changed(task, rng.choice(_asked(task)), volunteered=True)
    return Planted(Edit(data).requester(task.task_id, facts=facts).done(), (task.task_id,))


def early_answer(data: LeakInput, rng: Random) -> Planted:
    """The words of a later answer below the opening."""
    task = choose(data, rng, lambda t: any(len(f.answer.split()) >= 7 and f.question for f in t.requester.facts))
    answers = [f.answer for f in task.requester.facts if len(f.answer.split()) >= 7 and f.question]
    text = f"{task.opening.text}\n{rng.choice(answers)}"
    return Planted(Edit(data).opening(task.task_id, text=text).done(), (task.task_id,))


def knows_label(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    answer = f"Your letter says: {label_of(data, task.task_id)}."
    fact = Fact(id="f94", slots=("letter",), question="What does the letter say?", answer=answer)
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def knows_code_volunteered(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng, lambda t: code_of(data, t.task_id).count("_") >= 1)
    answer = f"The app already shows {code_of(data, task.task_id).replace('_', ' ')}."
    fact = Fact(id="f94", slots=(), answer=answer, volunteered=True)
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def thanks(data: LeakInput, rng: Random) -> Planted:
    """A turn from after the decision: the requester repeats what the agent then wrote."""
    task = choose(data, rng)
    text = resolution(rng)
    later = {**data.later_messages, task.task_id: (*data.later_messages.get(task.task_id, ()), text)}
    fact = Fact(id="f94", slots=(), answer=f"Thank you so much! {text}", volunteered=True)
    return Planted(Edit(data).fact(task.task_id, fact).done(later_messages=later), (task.task_id,))


def dont_know_label(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    turn = f"I do not know, I only read: {label_of(data, task.task_id)}."
    return Planted(Edit(data).requester(task.task_id, dont_know=(turn,)).done(), (task.task_id,))


def unconditional(data: LeakInput, rng: Random) -> Planted:
    """A fact without any condition: no slot, no question, and not said to be volunteered."""
    task = choose(data, rng, lambda t: bool(_asked(t)))
    facts = _changed(task, rng.choice(_asked(task)), slots=(), question="")
    return Planted(Edit(data).requester(task.task_id, facts=facts).done(), (task.task_id,))


def in_question(data: LeakInput, rng: Random) -> Planted:
    """The recorded question names the outcome that the agent then gave."""
    task = choose(data, rng, lambda t: code_of(data, t.task_id).count("_") >= 1)
    question = f"Before I book {code_of(data, task.task_id)}, what is your reason?"
    fact = Fact(id="f94", slots=("reason",), question=question, answer="It was the wrong size.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


PLANTS = (
    Plant("requester_volunteers", SECTION, "what was told on a question is volunteered", volunteers),
    Plant("requester_early_answer", SECTION, "the opening holds the words of a later answer", early_answer),
    Plant("requester_label", SECTION, "a fact holds the outcome's label", knows_label),
    Plant("requester_code", SECTION, "a volunteered turn holds the code with blanks", knows_code_volunteered),
    Plant("requester_thanks", SECTION, "a volunteered turn repeats the later answer", thanks),
    Plant("requester_dont_know", SECTION, "the turn of not knowing holds the outcome's label", dont_know_label),
    Plant("requester_unconditional", SECTION, "a fact that no slot and no question asks for", unconditional),
    Plant("requester_question", SECTION, "the recorded question names the outcome", in_question),
)
