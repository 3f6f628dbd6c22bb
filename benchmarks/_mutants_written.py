"""Mutants of the grader written by hand: each is a fault that a grader could really have. None of them may pass unseen."""
# ruff: noqa: E501 - old and new text of a mutant stand as they are in the source

from __future__ import annotations

OUT, S, V, P, W = "rewards.outcome", "rewards.score", "rewards.values", "rewards.path", "rewards.view"
R = "rewards.rules."

WRITTEN: tuple[tuple[str, str, str, str], ...] = (
    ("accepts any code", OUT, 'same(arguments.get("code"), outcome.code)}', "True}"),
    ("accepts any first word of a code", OUT, 'same(arguments.get("code"), outcome.code)}',
     'str(arguments.get("code")).split("_")[0] == outcome.code.split("_")[0]}'),
    ("ignores about", OUT, 'criteria["about"] = finish is not None and same(arguments.get("about"), outcome.about)',
     'criteria["about"] = finish is not None'),
    ("no finish is needed", OUT, 'criteria = {"code": finish is not None and same(', 'criteria = {"code": finish is None or same('),
    ("ignores collateral", OUT, "return all(self.criteria.values()) and not self.collateral", "return all(self.criteria.values())"),
    ("one criterion is enough", OUT, "return all(self.criteria.values()) and not self.collateral",
     "return any(self.criteria.values()) and not self.collateral"),
    ("accepts rows that nobody asked for", OUT,
     'collateral += [f"{system}.{kind} {record} was created"', 'collateral += [] and [f"{system}.{kind} {record} was created"'),
    ("accepts changed fields that nobody asked for", OUT,
     'collateral += [f"{system}.{kind} {record}.{name} was changed"', 'collateral += [] and [f"{system}.{kind} {record}.{name} was changed"'),
    ("accepts an update with another value", OUT, "now == normal(value)", "now is not None"),
    ("an update that was not made is as good", OUT, "now == normal(value)", "now in (None, normal(value))"),
    ("a missing row is right", OUT, "            criteria[label] = False\n", "            criteria[label] = True\n"),
    ("the fields of a missing row are right", OUT, "criteria.update({f\"{label}.{name}\": False for name in sorted(fields)})",
     "criteria.update({f\"{label}.{name}\": True for name in sorted(fields)})"),
    ("a created row needs no right field", OUT, 'found[3].get(name) == value for name, value in sorted(fields.items())',
     'True for name, value in sorted(fields.items())'),
    ("compares created rows as a set", OUT, "        actual.pop(match)\n", "        actual[:] = [a for a in actual if a[3] != actual[match][3]]\n"),
    ("any created row of any kind will do", OUT, "== kind and a[3] == fields), None)", "== kind), None)"),
    ("ignores fields that hold numbers", OUT, "return {name: value for name, value in found.items() if value != (\"none\",)}",
     'return {name: value for name, value in found.items() if value[0] not in ("none", "number")}'),
    ("ignores fields that hold text", OUT, "return {name: value for name, value in found.items() if value != (\"none\",)}",
     'return {name: value for name, value in found.items() if value[0] not in ("none", "text")}'),
    ("typed answers are not compared", OUT, "finish is not None and same(given.get(name), value)", "finish is not None"),
    ("an empty answer will do", OUT, "finish is not None and same(given.get(name), value)",
     "finish is not None and (name not in given or same(given.get(name), value))"),
    ("the writes of the finish are counted twice", OUT, "if not (entry.finished and row == opening):", "if True:"),
    ("no change is ever the agent's own", OUT, "if not (entry.finished and row == opening):", "if entry.finished and row != opening:"),
    ("amounts are compared by their first digit", V, 'return ("number", Decimal(value))\n    if isinstance(value, float)',
     'return ("number", str(value)[:1])\n    if isinstance(value, float)'),
    ("amounts are compared in whole units", V, 'return ("number", Decimal(value))\n    if isinstance(value, float)',
     'return ("number", Decimal(value // 100))\n    if isinstance(value, float)'),
    ("amounts are compared without their sign and within one", V, 'return ("number", Decimal(value))\n    if isinstance(value, float)',
     'return ("number", Decimal(value // 2))\n    if isinstance(value, float)'),
    ("true is one", V, '        return ("bool", value)', '        return ("number", Decimal(int(value)))'),
    ("texts are compared without their digits", V, 'isoformat())\n    return ("text", text.casefold().removesuffix(".") or text)\n',
     'isoformat())\n    return ("text", "".join(c for c in text.casefold() if not c.isdigit()))\n'),
    ("texts are compared by their first word", V, "text = \" \".join(text.split())", 'text = (text.split() or [""])[0].split("_")[0]'),
    ("all texts are alike", V, 'isoformat())\n    return ("text", text.casefold().removesuffix(".") or text)\n',
     'isoformat())\n    return ("text", "")\n'),
    ("no rule is run", P, "for each in rules.get(entry.call.tool, ()):", "for each in ():"),
    ("only the first rule of a tool is run", P, "for each in rules.get(entry.call.tool, ()):", "for each in rules.get(entry.call.tool, ())[:1]:"),
    ("rules judge refused calls too", P, "    if not entry.ok:\n        return []\n", ""),
    ("every rule is a soft one", P, '"hard": each.ref.hard', '"hard": False'),
    ("a broken rule does not stop success", S, "success = compared.right and not broken", "success = compared.right"),
    ("a wrong outcome is a success if no rule is broken", S, "success = compared.right and not broken", "success = not broken"),
    ("only the last step's rules count", S, "any(v.hard for v in (*self._violations, *found))", "any(v.hard for v in found)"),
    ("only earlier steps' rules count", S, "any(v.hard for v in (*self._violations, *found))", "any(v.hard for v in self._violations)"),
    ("full despite soft violations", S, "full=success and not self._violations", "full=success"),
    ("finishing unread is no fault", S, "if blind and not self._looked:", "if False:"),
    ("a right guess is no fault", S, "blind = not compared.right or not answer.outcome.changes", "blind = not compared.right"),
    ("an answer need not be given", S, "elif self.criteria.answers and not self._given", "elif False and not self._given"),
    ("one who is told the answer has looked it up", S, "entry.call.tool != MESSAGE_TOOL and (", "("),
    ("an answer may come from any row", S, "(not about or about & {*entry.reads})", "True"),
    ("pseudonyms are alike in any case", V, '        return ("id", text)\n', '        return ("id", text.casefold())\n'),
    ("a look that finds nothing is a check", "rewards.rules.required_before", "entry.result == NOTHING_FOUND and not entry.reads", "False"),
    ("a message is a look at the case", S, "return entry.ok and bool(entry.told)", "return True"),
    ("never finishing costs nothing", S, "        elif truncated:\n", "        elif False:\n"),
    ("invalid calls are no fault", S, "if entry.refusal.kind not in INVALID:", "if True:"),
    ("a look-up that finds nothing is an invalid call", S, "INVALID = frozenset(RefusalKind) - {RefusalKind.not_found}",
     "INVALID = frozenset(RefusalKind)"),
    ("collateral writes are no fault on the way", S, "if collateral > self._collateral:", "if False:"),
    ("patience is never spent", S, "self._spent += 1 / max(1, self.criteria.task.requester.patience)", "self._spent += 0"),
    ("repeating oneself is free", S, "                self._spent += 1 / self.criteria.task.max_steps\n            self._seen_calls.add(key)",
     "                pass\n            self._seen_calls.add(key)"),
    ("a reopened case costs nothing", S, "0.0 if compared.right else 1.0", "0.0"),
    ("speed is paid for failure too", S, "task.max_steps) if success else 0.0", "task.max_steps)"),
    ("refused calls count as done", W, "        if not entry.ok:\n            return step\n", ""),
    ("calls after the act count as before it", W, "            if step >= before:\n                return\n", ""),
    ("the act itself counts as an earlier call", W, "if step >= before:", "if step > before:"),
    ("what the requester said is not asked for", W, "        text = str(value)\n", "        return True\n        text = str(value)\n"),
    ("facts count before they are told", W, "for entry in self.entries[:before] for fact in entry.told}",
     "for entry in self.entries for fact in entry.told} | set(self.facts)"),
    ("any told fact proves any value", W, "slot in (fact := self.facts[one]).values and fact.values[slot] == text",
     "slot in self.facts[one].values"),
    ("rules see the state as it was at the start", W, "            if at >= step:\n                break\n            found = row\n", "            break\n"),
    ("rules see what the call itself wrote", W, "            if at >= step:\n", "            if at > step:\n"),
    ("a look-up stops at its first row", W, "            hop = hop.then\n", "            hop = None\n"),
    ("rules apply whatever the arguments", "rewards.rule", "return all(name in arguments and any(", "return True or all(name in arguments and any("),
    ("rules never apply under a condition", "rewards.rule", "return all(name in arguments and any(", "return not when and all(name in arguments and any("),
    ("no look-up is required", R + "required_before", "    for need in p.needs:\n        wanted", "    for need in ():\n        wanted"),
    ("the first need is enough", R + "required_before", "    for need in p.needs:\n        wanted", "    for need in p.needs[:1]:\n        wanted"),
    ("only the last need counts", R + "required_before", "    for need in p.needs:\n        wanted", "    for need in p.needs[-1:]:\n        wanted"),
    ("a look-up of any record counts", R + "required_before",
     "if not all(same(entry.call.arguments.get(name), value) for name, value in wanted.items()):", "if False:"),
    ("what the look-up returned does not matter", R + "required_before",
     "return all(name in result and same(result[name], value) for name, value in need.returned.items())", "return True"),
    ("what was told does not matter", R + "required_before",
     "if not all(view.said(slot, entry.call.arguments.get(name), at) for name, slot in need.told.items()):", "if False:"),
    ("windows are a day longer", R + "window", "if late <= timedelta(days=p.days):", "if late <= timedelta(days=p.days + 1):"),
    ("windows are a day shorter", R + "window", "if late <= timedelta(days=p.days):", "if late <= timedelta(days=p.days - 1):"),
    ("windows end just before their last moment", R + "window", "if late <= timedelta(days=p.days):", "if late < timedelta(days=p.days):"),
    ("windows are never over", R + "window", "if late <= timedelta(days=p.days):", "if True:"),
    ("limits are swapped", R + "limit", "if amount <= limit:", "if amount >= limit:"),
    ("limits are one higher", R + "limit", "if amount <= limit:", "if amount <= limit + 1:"),
    ("one more act than allowed", R + "limit", "if len(earlier) + 1 <= p.count:", "if len(earlier) <= p.count:"),
    ("acts of others count", R + "limit", "if not same(row.get(p.rows.match), named):", "if False:"),
    ("old acts count for ever", R + "limit", 'instant(told, f"{record_id}.{p.rows.time}") < start:', "False:"),
    ("approval is never needed", R + "approval", "if amount <= limit or any(", "if True or any("),
    ("approval is needed from the limit on", R + "approval", "if amount <= limit or any(", "if amount < limit or any("),
    ("a denied approval will do", R + "approval", "isinstance(result, dict) and result.get(\"decision\") == \"approved\"",
     "isinstance(result, dict)"),
    ("an approval of less will do", R + "approval", '>= amount\n', '>= 0\n'),
    ("an approval of any record will do", R + "approval", 'return enough and approved and same(asked.get("about"), arguments.get(p.about))',
     "return enough and approved"),
    ("forbidden states are allowed", R + "forbidden", "if not any(same(value, bad) for bad in p.values):", "if True:"),
    ("only the first forbidden state counts", R + "forbidden", "for bad in p.values):", "for bad in p.values[:1]):"),
    ("overdue from the very day on", R + "overdue", "if came - due > timedelta(days=p.days):", "if came - due >= timedelta(days=p.days):"),
    ("overdue a day too early", R + "overdue", "if came - due > timedelta(days=p.days):", "if came - due > timedelta(days=p.days - 1):"),
    ("exact amounts are lower bounds", R + "exact", "if amount in right:", "if right and amount >= min(right):"),
    ("exact amounts are upper bounds", R + "exact", "if amount in right:", "if right and amount <= max(right):"),
)  # fmt: skip
"""(name, module, old text, new text); the old text stands exactly once in the module."""

OUT_OF_QUESTION = {
    "words that people read": (
        "sentence", "conditions", "path_in_words", "money", "last_field", "listed", "by_table", "_in_words", "_of_rows_in_words",
    ),
    "the traces that rule files carry": ("_answered", "_asked", "_credited", "_delivered", "_refund", "_verified"),
    "opens files and refuses those that do not fit, before any grade is given": ("load_grader", "Grader.__init__", "Grader.criteria"),
    "the shape of a list, asked when a task is built and when the requester completes an answer": (
        "is_when", "is_day_of_month", "number_of",
    ),
}  # fmt: skip
"""Why functions are left out of the automatic mutants -> their names."""

EQUIVALENT: dict[str, str] = {
    "rules judge refused calls too": "the stepper asks the rules about accepted calls only",
    "calls after the act count as before it": "the stepper's view holds no call later than the one that is judged",
    "the act itself counts as an earlier call": "no rule demands a call of the tool that it judges",
    **dict.fromkeys(
        (
            "rewards.rules.exact check: allowed = ' or '.join(map(str, sorted(right))) or 'none' | ' or '.join(map(str, sorted(right))) or 'none', and <-> or",
            "rewards.rules.overdue check: after = (came - due).total_seconds() / 86400 | (came - due).total_seconds() / 86400, Div -> Mult",
            "rewards.rules.overdue check: after = (came - due).total_seconds() / 86400 | 86400 -> 86401",
            "rewards.rules.required_before check: if need.told | not (condition)",
            "rewards.rules.required_before check: if need.returned | not (condition)",
            "rewards.rules.required_before check: what += f\" with the {' and '.join((need.told[name] for name in sorted(need.told)))} that the requester said\" | without AugAssign",
            "rewards.rules.required_before check: what += ' returning ' + ', '.join((f'{name}={str(v).lower()}' for name, v in sorted(need.returned.items()))) | without AugAssign",
            "rewards.rules.window check: passed = late.total_seconds() / 86400 | late.total_seconds() / 86400, Div -> Mult",
            "rewards.rules.window check: passed = late.total_seconds() / 86400 | 86400 -> 86401",
            "rewards.score Stepper.grade: reasons += [f'collateral: {line}' for line in compared.collateral] | without AugAssign",
            "rewards.score Stepper.grade: reasons += [f'step {v.step} broke {v.rule}: {v.message}' for v in self._violations] | without AugAssign",
            "rewards.view NotThere.__init__: super().__init__(f'{ref.system}.{ref.kind} {ref.record_id} {what}') | without Expr",
        ),
        "only the words of a message are others",
    ),
    **dict.fromkeys(
        (
            "rewards.values normal: return _known_text(value) if len(value) <= SHORT else _normal_text(value) | len(value) <= SHORT, LtE -> Lt",
            "rewards.values normal: return _known_text(value) if len(value) <= SHORT else _normal_text(value) | len(value) <= SHORT, LtE -> Gt",
        ),
        "the form of a text is the same, kept or worked out again",
    ),
    "rewards.events check_weights: if not 0 < weights.gamma <= 1 | 0 < weights.gamma <= 1, Lt -> LtE": (
        "a gamma of zero is refused all the same: it leaves nothing of the violation that must be above quality + 2 * delay"
    ),
    "rewards.outcome best: break | without Break": (
        "no alternative is better than a comparison that is right, and the first of equals stays"
    ),
    "rewards.rules.limit _too_often: if p.rows is None or p.count is None or p.days is None | and <-> or": (
        "the parameters are refused unless they give rows, count and days together, or none of them"
    ),
    "rewards.listed _any_names: break | without Break": "it only saves longer texts than any name",
    "rewards.listed _any_names: longest = max((len(flat) for flat in exact), default=0) + 1 | 0 -> 1": "where no name can be said none is found",
    "rewards.listed _any_names: longest = max((len(flat) for flat in exact), default=0) + 1 | 1 -> 2": (
        "a name said with one letter more is as long as it gets: a longer text fits none"
    ),
    "rewards.listed _forms: found[short, value] = False | False -> True": "no short form of a weekday has the six letters that a slip needs",
    "rewards.listed _forms: start = own.index(core[0]) if core else 0 | 0 -> 1 (1 of 2)": (
        "without words of its own a name has no such form, wherever it would start"
    ),
    "rewards.listed _range: forward = first % 12 < last % 12 | first % 12 < last % 12, Lt -> LtE": "both ends are two hours by then",
    **dict.fromkeys(
        (
            "rewards.listed hours_apart: first, last = (int(m[1]) % 12 + (12 if m[2] == 'pm' else 0) if m else None for m in found) | int(m[1]) % 12 + (12 if m[2] == 'pm' else 0), Add -> Sub",
            "rewards.listed hours_apart: first, last = (int(m[1]) % 12 + (12 if m[2] == 'pm' else 0) if m else None for m in found) | m[2] == 'pm', Eq -> NotEq",
        ),
        "from one hour to another it is as long, by a day or half a day earlier: the hours are counted round the clock",
    ),
    **dict.fromkeys(
        (
            "rewards.seen days_in: part = dict(zip(order, match.groups(), strict=True)) | True -> False",
            "rewards.seen Seen._unknown: held = zip(self._asked, self._values, strict=True) | True -> False",
            "rewards.seen Seen._answers: for asked, values in zip(self._asked, self._values, strict=True) | True -> False",
        ),
        "both are always equally long",
    ),
    "rewards.yes_no _answer: return False | False -> True": "who asks takes either truth value for an answer that says both",
    "rewards.yes_no _asks: return all((_WHICH.search(clause) and clauses.index(clause) < last for clause in others)) | clauses.index(clause) < last, Lt -> LtE": (
        "the last question names it and is therefore none of the others"
    ),
    "rewards.slips one_slip: if abs(len(spoken) - len(known)) > 1 or spoken[:1] != known[:1] | 1 -> 2 (3 of 3)": (
        "it only saves the comparison: no form of a slip is two letters longer or shorter"
    ),
    "rewards.score Stepper._milestone: if not milestones or not entry.ok or (not entry.changes) | and <-> or": (
        "it only saves the comparison: a call that changes nothing brings nothing nearer, and no milestone pays nothing"
    ),
}
"""Name of a mutant that can do no harm -> why. Automatic mutants are named by what they change (benchmarks/_mutate.py), so that
an entry whose statement is no longer there is an error and not a pardon for another mutant."""
