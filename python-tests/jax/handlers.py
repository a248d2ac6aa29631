"""The example handlers of docs/examples/ffi, compiled against the headers of this jaxlib."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxlib import xla_client

from emulator import JAXLIB

if JAXLIB < (0, 5):
    from jax.extend import ffi  # type: ignore[attr-defined]
else:
    from jax import ffi

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "ffi"
INCLUDE = Path(ffi.include_dir())
BUILT = ROOT / "target" / "handlers"
STAGES = ("instantiate", "prepare", "initialize", "execute")
# Registers itself, so it needs a process that exports XLA_FFI_GetApi.
SELF_REGISTERED = EXAMPLES / "self_registered.cc"
# The bindings of run id and device ordinal came while the version of the headers was 0.1.
HAS_RUN_ID = "struct DeviceOrdinal" in (INCLUDE / "xla/ffi/api/ffi.h").read_text()
# The beginning of a program of its own that calls targets by name on one number.
PROGRAM = """
    import sys
    import ctypes
    import jax
    import numpy as np
    try:
        from jax import ffi
    except ImportError:
        from jax.extend import ffi

    def call(name, x=np.float32(3), **options):
        result = jax.ShapeDtypeStruct(np.shape(x), np.float32)
        return float(jax.jit(ffi.ffi_call(name, result, **options))(x).sum())
"""
FLAGS = ("-std=c++17", "-O1", "-g", "-shared", "-fPIC")


@functools.cache
def compiler() -> tuple[str, ...]:
    """A C++ compiler: the system's, or the one of the package `ziglang`."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and (found := shutil.which(name)):
            return (found,)
    return (sys.executable, "-m", "ziglang", "c++")


def build(sources: Sequence[Path], include: Path = INCLUDE) -> Path:
    """A shared library of some examples, kept for later runs."""
    headers = sorted((include / "xla" / "ffi" / "api").glob("*.h"))
    parts = [path.read_bytes() for path in (*headers, *sources)]
    parts += [repr((compiler(), FLAGS, HAS_RUN_ID, [str(path) for path in sources])).encode()]
    library = BUILT / f"{hashlib.sha256(b'/'.join(parts)).hexdigest()[:24]}.so"
    if not library.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        fresh = library.with_suffix(f".{os.getpid()}")
        defined = ["-DEXAMPLE_HAS_RUN_ID"] if HAS_RUN_ID and include == INCLUDE else []
        text = "".join(f'#include "{path}"\n' for path in sources)
        command = [*compiler(), *FLAGS, *defined, "-I", str(include), "-o", str(fresh)]
        done = subprocess.run(
            [*command, "-x", "c++", "-"], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        fresh.rename(library)
    return library


@functools.cache
def path() -> Path:
    """The library of all examples but the one that registers itself."""
    return build(sorted(set(EXAMPLES.glob("*.cc")) - {SELF_REGISTERED}))


@functools.cache
def library() -> ctypes.CDLL:
    """The same library, loaded."""
    return ctypes.CDLL(str(path()))


def capsule(symbol: str, of: ctypes.CDLL | None = None) -> object:
    """A function of the library as JAX takes it."""
    return ffi.pycapsule(getattr(of or library(), symbol))


def pointer(getter: str, of: ctypes.CDLL | None = None) -> object:
    """What a function of the library points to, as JAX takes it."""
    function = getattr(of or library(), getter)
    function.restype = ctypes.c_void_p
    return ffi.pycapsule(function())


def bundle(prefix: str) -> dict[str, object]:
    """The handlers of all stages."""
    return {stage: capsule(f"{prefix}_{stage}") for stage in STAGES}


def register(name: str, symbol: str | None = None, **options: object) -> str:
    """Registers a function of the library for the TPU; the name by default is the symbol."""
    ffi.register_ffi_target(name, capsule(symbol or name), platform="tpu", **options)
    return name


def shape(dimensions: Sequence[int] = (), dtype: type = np.float32) -> jax.ShapeDtypeStruct:
    """A result of a call."""
    return jax.ShapeDtypeStruct(tuple(dimensions), np.dtype(dtype))


def call(name: str, results: Any, *arguments: Any, **options: Any) -> Any:
    """Calls a target out of a jitted program. `attributes` are its keyword arguments."""
    attributes = options.pop("attributes", {})
    function = ffi.ffi_call(name, results, **options)
    return jax.jit(lambda *values: function(*values, **attributes))(*arguments)


def run_text(text: str, *arguments: np.ndarray) -> list[np.ndarray]:
    """Compiles a StableHLO program for the first device and runs it on arrays."""
    device = jax.devices()[0]
    options = xla_client.CompileOptions()
    if hasattr(device.client, "compile_and_load"):
        devices = xla_client.DeviceList((device,))
        program = device.client.compile_and_load(text, devices, options)
    else:
        program = device.client.compile(text, options)
    arrays = [jax.device_put(argument, device) for argument in arguments]
    results = program.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return [np.asarray(result) for [result] in results]
