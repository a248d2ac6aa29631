"""Memory as tpu-emu plans it beside what the installed libtpu says: the table of docs/fidelity.md.

    compare.py [--plan] [--quick] [--drawn SEED COUNT] [NAME…]

It needs the package libtpu, or LIBTPU with a path to a libtpu.so. With `--plan` it needs neither:
sizes here are put beside those of libtpu that the page has. With a name or `--quick`, it prints and
leaves the page as it is, which has sizes of both sides, and no text of libtpu's. `--drawn` is that
many programs of each kind, drawn at random by a seed; their names are `KIND SEED:NUMBER`.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

import jax
import numpy as np
from drawn_programs import KINDS, drawn
from image_programs import IMAGE_MODELS
from other_programs import OTHER_MODELS, OTHER_PIECES

from planned_programs import MODELS, PIECES, Program

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "fidelity.md"
BEGIN, END = "<!-- programs -->\n", "<!-- end of programs -->\n"
GROUPS = {
    "models": MODELS,
    "operations": PIECES,
    "other models": OTHER_MODELS,
    "other operations": OTHER_PIECES,
    "image models": IMAGE_MODELS,
}
EVERYTHING = {name: program for group in GROUPS.values() for name, program in group.items()}
DRAWN = re.compile(rf"({'|'.join(KINDS)}) (\d+):(\d+)")
"""What a drawn program is called."""
BELOW = "more than 15 % below"
NO_ANSWER = "the plan of tpu-emu stands"
NO_COMMAND = "the command tpu-emu, which loads it"
"""What is said once if libtpu cannot be asked about any program."""
SIDES = ("ours", "real")
CHILD = "--sizes"
"""The word by which it asks one side, in a process of its own."""


class Sizes(TypedDict, total=False):
    """What one side says of a program."""

    peak: int
    temporaries: int
    error: str


def told(page: str) -> tuple[dict[str, Sizes], str]:
    """What libtpu said of programs by a page, in its megabytes, and which libtpu that was."""
    measured = page.split(BEGIN)[1].split(END, maxsplit=1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in measured.splitlines()]
    sizes = {}
    for name, _, real, *_ in (row for row in rows if len(row) == 4):
        if real.replace(",", "").isdigit():
            sizes[name] = Sizes(peak=int(real.replace(",", "")) * 10**6)
    libtpu = next(
        line.split(" and jax ")[0][3:] for line in measured.splitlines() if line[:3] == "By "
    )
    return sizes, libtpu


def written(page: str, measured: str) -> str:
    """A page with another table."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{measured}{END}{rest.split(END)[1]}"


def drawn_kind(name: str) -> str | None:
    """The kind of a drawn program; nothing for the name of another one."""
    found = DRAWN.fullmatch(name)
    return found[1] if found else None


def program_of(name: str) -> Program:
    """The program of a name, drawn anew if it is a drawn one's."""
    if found := DRAWN.fullmatch(name):
        return drawn(found[1], int(found[2]), int(found[3]))
    return EVERYTHING[name]()


def plan(names: Iterable[str]) -> None:
    """Compiles programs here, and prints a line of JSON for each."""
    devices = jax.devices()
    mesh = jax.sharding.Mesh(np.asarray(devices[:8]), ("devices",))
    one = jax.sharding.SingleDeviceSharding(devices[0])
    # What the library says of a program that libtpu does not answer for stands there.
    with tempfile.TemporaryFile() as said, os.fdopen(os.dup(2), "w") as terminal:
        os.dup2(said.fileno(), 2)
        sys.stderr = terminal
        for name in names:
            before = said.seek(0, os.SEEK_END)
            program = program_of(name)
            leaves, tree = jax.tree_util.tree_flatten(program.arguments)
            place = program.shardings(mesh) if program.shardings else lambda *_: one
            described = [
                jax.ShapeDtypeStruct(of.shape, of.dtype, sharding=place(at, len(leaves), of))
                for at, of in enumerate(leaves)
            ]
            arguments = jax.tree_util.tree_unflatten(tree, described)
            jitted = jax.jit(program.function, donate_argnums=program.donated)
            try:
                memory = jitted.lower(*arguments).compile().memory_analysis()
            except jax.errors.JaxRuntimeError as error:
                sizes = Sizes(error=str(error).splitlines()[0])
            else:
                assert memory is not None
                sizes = Sizes(
                    peak=memory.peak_memory_in_bytes, temporaries=memory.temp_size_in_bytes
                )
            said.seek(before)
            if NO_COMMAND in (text := said.read().decode(errors="replace")):
                print(text.strip(), file=terminal)
                sys.exit(1)
            if NO_ANSWER in text:
                sizes = Sizes(error=text.strip().splitlines()[-1])
            print(json.dumps([name, sizes]), flush=True)


def planned(side: str, names: list[str], libtpu: str) -> dict[str, Sizes]:
    """What one side says, asked in a process of its own."""
    ours = {"TPU_EMU_HBM_BYTES": "64GiB"}
    more = {"ours": ours, "real": {"TPU_EMU_COMPILER": libtpu}}[side]
    environment = {
        "TPU_EMU_TOPOLOGY": "v5e:2x4",
        **os.environ,
        "JAX_PLATFORMS": "tpu",
        "TPU_LIBRARY_PATH": os.environ["TPU_EMU_LIBRARY"],
        **more,
    }
    command = [sys.executable, __file__, CHILD, *names]
    found = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout or ():
            name, sizes = json.loads(line)
            print(f"{side}: {name}: {sizes}", file=sys.stderr)
            found[name] = sizes
    if child.returncode:
        sys.exit(f"{side}: ended with {child.returncode}")
    return found


def quotient(ours: Sizes, real: Sizes) -> float | None:
    """Our peak over the real one; nothing where a side has none."""
    return ours["peak"] / real["peak"] if ours.get("peak") and real.get("peak") else None


def distribution(title: str, quotients: list[float]) -> list[str]:
    """How the quotients of some programs lie."""
    within = [sum(1 / bound <= one <= bound for one in quotients) for bound in (1.15, 1.5)]
    below = sum(one < 0.85 for one in quotients)
    middle = sorted(quotients)[len(quotients) // 2]
    least, most = min(quotients), max(quotients)
    cells = [title, len(quotients), *within, below]
    return [
        "| " + " | ".join(map(str, cells)) + f" | {least:.2f} | {middle:.2f} | {most:.2f} |",
    ]


def table(found: dict[str, dict[str, Sizes]], libtpu: str) -> str:
    """The part of the page that is measured."""
    both = {
        name: value
        for name in found["ours"]
        if (value := quotient(found["ours"][name], found["real"].get(name, Sizes())))
    }
    groups = [
        (title, [value for name, value in both.items() if name in group])
        for title, group in GROUPS.items()
    ]
    groups += [
        (kind, [value for name, value in both.items() if drawn_kind(name) == kind])
        for kind in KINDS
    ]
    lines = [
        f"By {libtpu} and jax {jax.__version__}, for v5e.",
        "",
        f"| programs | how many | within 15 % | within 1.5 | {BELOW} | least | middle | most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, values in groups:
        lines += distribution(title, values) if values else []
    lines += ["", "| program | ours, MB | libtpu, MB | ours ÷ libtpu |", "|---|---|---|---|"]

    def size(sizes: Sizes) -> str:
        return f"{sizes['peak'] / 1e6:,.0f}" if "peak" in sizes else "refused"

    for name in found["ours"]:
        ours, real = found["ours"][name], found["real"].get(name, Sizes())
        share = f"{both[name]:.2f}" if name in both else ""
        lines.append(f"| {name} | {size(ours)} | {size(real)} | {share} |")
    return "\n".join(lines) + "\n"


def chosen_libtpu() -> str:
    """The libtpu to be asked."""
    installed = importlib.util.find_spec("libtpu") is not None
    libtpu = os.environ.get("LIBTPU") or ("libtpu" if installed else "")
    if not libtpu:
        sys.exit(
            f"make fidelity needs the package libtpu, which {sys.executable} does not have: "
            "pip install libtpu there, or LIBTPU=path/to/libtpu.so"
        )
    return libtpu


def main() -> None:
    """Measures both sides, or only this one; without names, writes the page."""
    words = sys.argv[1:]
    if words[:1] == [CHILD]:
        plan(words[1:])
        return
    alone = "--plan" in words
    libtpu = "" if alone else chosen_libtpu()
    names = [word for word in words if word not in {"--plan", "--quick"}]
    if "--drawn" in names:
        at = names.index("--drawn")
        numbers = names[at + 1 : at + 3]
        if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
            sys.exit("--drawn takes a seed and how many programs of each kind")
        seed, count = map(int, numbers)
        names[at : at + 3] = [f"{kind} {seed}:{one}" for kind in KINDS for one in range(count)]
    if unknown := sorted({name for name in names if not drawn_kind(name)} - set(EVERYTHING)):
        sys.exit(f"no program is called {', '.join(unknown)}; there are {', '.join(EVERYTHING)}")
    if "--quick" in words:
        names = ["mlp 4096 f32", "softmax 8192x32000", "mlp 4096 bf16, sharded over 8"]
    if alone:
        real, named = told(PAGE.read_text())
        found = {"ours": planned("ours", names or list(EVERYTHING), libtpu), "real": real}
    else:
        found = {side: planned(side, names or list(EVERYTHING), libtpu) for side in SIDES}
        named = f"libtpu {importlib.metadata.version('libtpu')}" if libtpu == "libtpu" else libtpu
    measured = table(found, named)
    if names:
        print(measured)
        return
    PAGE.write_text(written(PAGE.read_text(), measured))


if __name__ == "__main__":
    main()
