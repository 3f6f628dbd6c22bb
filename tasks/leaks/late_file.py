"""A file that the agent is given was changed after the cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tasks.leaks._times import instant, times_in
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, must_instant


def run(data: LeakInput) -> list[Finding]:
    if not data.file_times:
        return [Finding("late_file", "not_applicable", detail="no task is given files")]
    found = Found("late_file")
    tasks = {task.task_id: task for task in data.tasks}
    for task_id, files in sorted(data.file_times.items()):
        if task_id not in tasks:
            continue
        cut = must_instant(tasks[task_id].started_at, f"{task_id}.started_at")
        for path, at in sorted(files.items()):
            read = instant(at) or next((time.readings[0] for time in times_in(at) if not time.month), None)
            if read is None:
                raise ValueError(f"the time of a file of {task_id} is no time")
            if read > cut:
                found.add(f"files/{path}", "changed after the cut", [task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    task = data.tasks[0]
    later = must_instant(task.started_at, "started_at") + timedelta(hours=1)
    files = {**data.file_times.get(task.task_id, {}), "notes.txt": later.isoformat()}
    return replace(data, file_times={**data.file_times, task.task_id: files})


LEAK = Leak("late_file", run, planted)
