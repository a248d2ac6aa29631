"""Counts the instructions that compiling takes in the plugin, and fails where they have grown.

    count.py [NAME…]

The counts are callgrind's, which are nearly the same in each run, whatever else the machine does.
`counts.json` has those of the last change that meant to change them; `UPDATE=1` writes it. Counts
of another compiler of Rust, or of another JAX, say nothing of a change: these are skipped, by name,
as is a machine without valgrind.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jaxlib
import numpy as np
from jax import export
from jaxlib import xla_client
from programs import PROGRAMS, Program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COUNTS = HERE / "counts.json"
HEADERS = ROOT / "pjrt-plugin" / "sys" / "include"
GROWTH = 0.05
"""How much more a program may take than `counts.json` says, as a share."""


def driver(folder: Path) -> Path:
    """What is run under callgrind."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        sys.exit("counting needs a C compiler")
    built = folder / "driver"
    command: list[str | Path] = [
        compiler,
        "-O1",
        "-g",
        "-I",
        HEADERS,
        "-o",
        built,
        HERE / "driver.c",
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return built


def options(program: Program) -> bytes:
    """The options that JAX sends with a program."""
    made = xla_client.CompileOptions()
    made.num_replicas = 1
    made.num_partitions = program.devices
    build = made.executable_build_options
    build.num_partitions = program.devices
    build.use_spmd_partitioning = program.devices > 1
    build.use_shardy_partitioner = program.devices > 1
    devices = np.arange(program.devices, dtype=np.int32)[None]
    made.device_assignment = xla_client.DeviceAssignment.create(devices)
    return made.SerializeAsString()


def count(built: Path, folder: Path, program: Program) -> dict[str, int]:
    """Operations of a program, and instructions of its compilation."""
    exported = export.export(jax.jit(program.function), platforms=["tpu"])(*program.arguments)
    code, said = folder / "program", folder / "options"
    code.write_bytes(exported.mlir_module_serialized)
    said.write_bytes(options(program))
    valgrind = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=counted_compile",
    ]
    words: list[str | Path] = [built, os.environ["TPU_EMU_LIBRARY"], code, said]
    environment = {"PATH": os.environ["PATH"], "TPU_EMU_TOPOLOGY": "v5e:2x4"}
    done = subprocess.run(
        [*valgrind, *words], env=environment, capture_output=True, text=True, check=False
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not collected:
        sys.exit(done.stderr)
    module = exported.mlir_module()
    operations = len(re.findall(r"^\s*(?:%\S+ = )?\"?stablehlo\.", module, re.MULTILINE))
    return {"operations": operations, "instructions": int(collected[1])}


def made_by() -> dict[str, str]:
    """What the counts depend on beside the code."""
    rustc = shutil.which("rustc") or sys.exit("counting needs rustc, whose version it compares")
    said = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=True)
    return {"rustc": said.stdout.split()[1], "jaxlib": jaxlib.__version__}


def main() -> None:
    """Compares, or writes."""
    if shutil.which("valgrind") is None:
        print("skipped: counting what compiling takes: valgrind is not on the path")
        return
    update = bool(os.environ.get("UPDATE"))
    told = json.loads(COUNTS.read_text()) if COUNTS.exists() else {"made_by": {}, "counts": {}}
    tools = made_by()
    if not update and told["made_by"] != tools:
        print(f"skipped: counts.json is of {told['made_by']}, and this is {tools}")
        return
    names = sys.argv[1:] or list(PROGRAMS)
    found, grown = {}, []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        built = driver(folder)
        for name in names:
            found[name] = count(built, folder, PROGRAMS[name])
            now, before = found[name], told["counts"].get(name, {})
            share = now["instructions"] / before.get("instructions", now["instructions"]) - 1
            each = now["instructions"] // max(now["operations"], 1)
            print(
                f"{name}: {now['instructions']:,} instructions, {each:,} for each of"
                f" {now['operations']} operations ({share:+.1%})"
            )
            if not before or before["operations"] != now["operations"] or share > GROWTH:
                grown.append(name)
    if update:
        COUNTS.write_text(
            json.dumps({"made_by": tools, "counts": {**told["counts"], **found}}, indent=2) + "\n"
        )
    elif grown:
        sys.exit(
            f"compiling takes over {GROWTH:.0%} more than python-tests/compile_cost/counts.json"
            f" says, or the program is another: {', '.join(grown)}. Where that is meant:"
            " UPDATE=1 make compile-cost"
        )


if __name__ == "__main__":
    main()
