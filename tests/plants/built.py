"""A built task set as the leak checks see it: its folder, the drafts beside it, and the clean records that it was made from."""

from __future__ import annotations

from pathlib import Path

from schemas.files import get_content, read_json, read_models
from schemas.paths import clean_dir, taskset_dir
from schemas.records import CodeBook
from schemas.spec import Spec
from schemas.task import Answer, TaskSpec, Trajectory
from schemas.taskset import SideManifest
from tasks.case import iso, open_clean
from tasks.certified import canary_of, drafts_dir
from tasks.leak_input import first_seen_of
from tasks.leaks import LeakInput
from tasks.policy import versions_of
from tasks.shard import Draft


def load(spec: Spec) -> LeakInput:
    """What the builder knew when it published the set of this spec (in the data folder of the environment)."""
    folder, source = taskset_dir(spec.name), clean_dir(spec.supplier)
    clean = open_clean(source, spec.select)
    tasks: list[TaskSpec] = []
    answers: dict[str, Answer] = {}
    for side in ("train", "heldout"):
        SideManifest.model_validate(read_json(folder / side / "manifest.json"))
        tasks += read_models(folder / side / "tasks.jsonl", TaskSpec)
        answers.update({a.task_id: a for a in read_models(folder / side / "answers.jsonl", Answer)})
    ids = {t.task_id for t in tasks}
    drafts = {d.task.task_id: d for d in read_models(drafts_dir(spec.name) / "drafts.jsonl", Draft) if d.task.task_id in ids}
    split = read_json(folder / "splits.json")
    stored: dict[str, object] = {}

    def content(digest: str) -> object:
        if digest not in stored:
            stored[digest] = get_content(folder / "content", digest)
        return stored[digest]

    boundary = split["boundary_us"]
    return LeakInput(
        tasks=tuple(sorted(tasks, key=lambda t: t.task_id)),
        answers=answers,
        content=content,
        code_book=CodeBook.model_validate(clean.codebook.model_dump()),
        later_messages={t: d.later_messages for t, d in drafts.items()},
        requester_turns={t: d.requester_turns for t, d in drafts.items() if d.requester_turns},
        first_seen=first_seen_of(clean),
        groups={
            spec.holdout.group: {t: d.group for t, d in drafts.items()},
            "requester": {t: d.requester for t, d in drafts.items()},
        },
        waived_groups=spec.holdout.signed(),
        closed_at={t: d.closed_at for t, d in drafts.items()},
        boundary=iso(boundary) if boundary is not None else None,
        embargo_s={w: e / 1e6 for w, e in split["embargo_us"].items()},
        policy_times={
            f"{v.policy.document} v{v.policy.version}": (
                iso(v.from_us) if v.from_us is not None else None,
                iso(v.to_us) if v.to_us is not None else None,
            )
            for v in versions_of(clean.policies())
        },
        files=_files(folder),
        canary=canary_of(spec),
        forms=get_content(folder / "content", forms) if (forms := read_json(folder / "manifest.json").get("forms")) else {},
        trajectories=tuple(read_models(folder / "train" / "trajectories.jsonl", Trajectory)),
        fitted_on={"forms": tuple(t.task_id for t in tasks if t.slice == "train")},
        seed=spec.seed,
    )


def _files(folder: Path) -> dict[str, str]:
    """As the builder reads them: every text of the folder but the contents."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".jsonl") and "content" not in path.relative_to(folder).parts
    }
