"""Points JAX, here and in the programs that tests start, at the plugin, before JAX is imported."""

import contextlib
import gc
import os
import sys
from pathlib import Path

import pytest

import tpu_emu

pytest_plugins = ["trace_writer", "installed"]

PACKAGE = Path(tpu_emu.__file__).resolve().parents[1]

# Put there by pytest: where JAX is not installed, the folder `jax` here would be imported for it.
with contextlib.suppress(ValueError):
    sys.path.remove(str(Path(__file__).parent))

# What a developer set for another program must not change a test.
for _name in list(os.environ):
    if _name.startswith(("JAX_", "TPU_", "PJRT_", "XLA_")) and _name != "TPU_EMU_LIBRARY":
        del os.environ[_name]

_inherited = os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = f"{PACKAGE}{os.pathsep}{_inherited}" if _inherited else str(PACKAGE)
os.environ["JAX_PLATFORMS"] = "tpu"
# Clients of the libtpu C API read these, and no others: jaxlib 0.4.13 has a PJRT client too, and it
# and TensorFlow lock a file against a second process.
os.environ["JAX_USE_PJRT_C_API_ON_TPU"] = "false"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
os.environ["TPU_LOAD_LIBRARY"] = "1"
# Tests without JAX run without a plugin; those with it say where it was looked for.
with contextlib.suppress(FileNotFoundError):
    os.environ["TPU_LIBRARY_PATH"] = str(tpu_emu.library_path().resolve())


@pytest.fixture(autouse=True, scope="module")
def _empty_device() -> None:
    """Each file of tests begins with an empty device: what JAX has cached for others is dropped."""
    if jax := sys.modules.get("jax"):
        jax.clear_caches()
    gc.collect()
