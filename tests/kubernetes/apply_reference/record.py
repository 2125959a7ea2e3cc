"""Records what Kubernetes' own library makes of random applies and updates.

``go build -o reference . && python record.py ./reference``. Stories end where the library leaves a null behind: a
server drops it, the library alone does not.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def _spec(rng: random.Random, *, deep: bool = True) -> Json:
    made: Json = {}
    for name, chance in (("x", 0.5), ("z", 0.4)):
        if rng.random() < chance:
            made[name] = rng.randint(0, 2)
    if rng.random() < 0.3:
        made["nums"] = [rng.randint(0, 2) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.4:
        made["set"] = rng.sample(["p", "q", "r"], rng.randint(0, 2))
    if deep and rng.random() < 0.6:
        made["parts"] = [_part(rng, name) for name in rng.sample("abc", rng.randint(0, 3))]
    return made


def _part(rng: random.Random, name: str) -> Json:
    made: Json = {"name": name}
    if rng.random() < 0.5:
        made["w"] = rng.randint(0, 2)
    if rng.random() < 0.3:
        made["sub"] = _spec(rng, deep=False)
    return made


def _object(rng: random.Random) -> Json:
    made: Json = {}
    if rng.random() < 0.4:
        made["a"] = rng.choice("uv")
    for name, chance, most in (("labels", 0.5, 3), ("atom", 0.3, 2)):
        if rng.random() < chance:
            made[name] = {key: rng.choice("12") for key in rng.sample("lmn", rng.randint(0, most))}
    if rng.random() < 0.8:
        made["spec"] = _spec(rng)
    return made


def _has_null(value: Any) -> bool:
    match value:
        case dict():
            return any(_has_null(inner) for inner in value.values())
        case list():
            return any(_has_null(inner) for inner in value)
        case _:
            return value is None


def _story(seed: int, ask: Any) -> list[Json]:
    rng, live, story = random.Random(seed), {}, []
    ask({"reset": True})
    for _ in range(7):
        operation = rng.choice(["apply", "apply", "update"])
        step: Json = {"op": operation, "manager": rng.choice(["one", "two", "three"]), "force": rng.random() < 0.4}
        step["object"] = _object(rng)
        if operation == "update" and rng.random() < 0.7:
            step["object"] = {**live, **step["object"]}
        answer = ask(step)
        if _has_null(answer.get("object", {})) or answer.get("object", {}) is None or "error" in answer:
            break
        if "conflicts" in answer:
            answer = {"conflicts": sorted(conflict.partition(":")[2] for conflict in answer["conflicts"])}
        else:
            live = answer["object"]
        story.append({**step, "becomes": answer})
    return story


def main() -> None:
    """Writes ``recorded.json`` beside this file."""
    program = sys.argv[1]
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reference:
        assert reference.stdin is not None
        assert reference.stdout is not None

        def ask(step: Json) -> Any:
            reference.stdin.write(json.dumps(step) + "\n")
            reference.stdin.flush()
            return json.loads(reference.stdout.readline())

        stories = [_story(seed, ask) for seed in range(40)]
        reference.stdin.close()
    lines = ",\n".join(json.dumps(story, separators=(",", ":"), sort_keys=True) for story in stories)
    Path(__file__).with_name("recorded.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
