"""The entry point by which JAX finds the installed package, in programs that ask and do not."""

import os
import subprocess
import sys
from pathlib import Path

from emulator import LIBRARY

TELL = "import jax, os; print(jax.default_backend(), os.environ.get('TPU_LIBRARY_PATH'))"
LOADED = """
for line in open("/proc/self/maps"):
    if line.rstrip().endswith(("other.so", "libpjrt_tpu_emu.so")):
        print(line.split()[-1])
        break
"""
CHILD = """
import os, subprocess, sys
import jax
jax.config.update("jax_platforms", "tpu")
print(jax.default_backend())
environment = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
tell = "import jax; print(jax.default_backend())"
print(subprocess.check_output([sys.executable, "-c", tell], env=environment, text=True), end="")
"""
SPAWNED = """
import multiprocessing
def platform():
    import jax
    return jax.default_backend()
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(platform))
"""


def run(installed: Path, program: str, *folders: Path, **environment: str) -> list[str]:
    """The words that a program prints in which the package is installed."""
    left = ("JAX_PLATFORMS", "TPU_LIBRARY_PATH", "PYTHONPATH")
    inherited = {name: value for name, value in os.environ.items() if name not in left}
    path = os.pathsep.join(map(str, [installed, *folders]))
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {"PYTHONPATH": path, "TPU_EMU_LIBRARY": str(LIBRARY)} | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return told.stdout.split()


def test_a_program_that_asks_for_a_tpu_has_the_emulated_one(installed):
    assert run(installed, TELL, JAX_PLATFORMS="tpu") == ["tpu", "None"]
    assert run(installed, TELL, JAX_PLATFORMS="cpu,tpu") == ["cpu", "None"]
    asking = f"import jax; jax.config.update('jax_platforms', 'tpu'); {TELL}"
    assert run(installed, asking) == ["tpu", "None"]


def test_a_program_that_does_not_ask_is_as_it_was(installed):
    assert run(installed, TELL) == ["cpu", "None"]
    assert run(installed, TELL, JAX_PLATFORMS="cpu") == ["cpu", "None"]


def test_the_variable_makes_it_the_default_where_no_platform_is_named(installed):
    assert run(installed, TELL, TPU_EMU="1") == ["tpu", "None"]
    assert run(installed, TELL, TPU_EMU="1", JAX_PLATFORMS="cpu") == ["cpu", "None"]


def test_a_program_that_is_started_asks_for_itself(installed):
    assert run(installed, CHILD) == ["tpu", "cpu"]
    assert run(installed, CHILD, TPU_EMU="1") == ["tpu", "tpu"]
    inherits = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TELL!r}])"
    assert run(installed, inherits, JAX_PLATFORMS="tpu") == ["tpu", "None"]


def test_processes_that_multiprocessing_spawns_have_it_too(installed, tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    program = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    assert run(installed, program, JAX_PLATFORMS="tpu") == ["tpu"]


def test_an_installed_libtpu_is_left_alone(installed, tmp_path):
    (tmp_path / "libtpu.py").write_text("def get_library_path(): return '/no/libtpu.so'\n")
    tell = """
import jax
try:
    print(jax.default_backend())
except RuntimeError as why:
    print("/no/libtpu.so" in str(why))
"""
    assert run(installed, tell, tmp_path, JAX_PLATFORMS="tpu") == ["True"]
    assert run(installed, tell, tmp_path, JAX_PLATFORMS="tpu", TPU_EMU="1") == ["tpu"]


def test_a_library_that_is_named_is_left_alone(installed, tmp_path):
    other = tmp_path / "other.so"
    other.write_bytes(LIBRARY.read_bytes())
    loaded = f"{TELL}\n{LOADED}"
    told = run(installed, loaded, JAX_PLATFORMS="tpu", TPU_LIBRARY_PATH=str(other))
    assert told == ["tpu", str(other), str(other)]
    told = run(installed, loaded, JAX_PLATFORMS="tpu", TPU_LIBRARY_PATH=str(other), TPU_EMU="1")
    assert told == ["tpu", str(other), str(LIBRARY)]


def test_variable_0_keeps_it_out(installed):
    tell = "import jax\ntry: print(jax.default_backend())\nexcept RuntimeError: print('none')"
    assert run(installed, tell, JAX_PLATFORMS="tpu", TPU_EMU="0") == ["none"]
