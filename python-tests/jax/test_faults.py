"""Resources that end: a clear error or another way, no lost result, and a device that goes on.

docs/resources.md has the table of them. What a limit of the process cannot take away, a library
refuses that is loaded before the C library (refusals.c).
"""

import functools
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from emulator import LIBRARY, run

SOURCE = Path(__file__).with_name("refusals.c")

BEGIN = """
import contextlib
import ctypes
import os
import resource
import signal

import jax
import jax.numpy as jnp
import numpy as np

refusals = ctypes.CDLL(None)
counted = ctypes.c_int.in_dll(refusals, "refused")

@contextlib.contextmanager
def refusing(value=1, **names):
    places = [ctypes.c_size_t.in_dll(refusals, name) if name == "refuse_blocks"
              else ctypes.c_int.in_dll(refusals, name) for name in names]
    before = counted.value
    for place, size in zip(places, names.values()):
        place.value = size
    try:
        yield
    finally:
        for place in places:
            place.value = 0
        print("refused", counted.value > before, flush=True)

def failure(work):
    try:
        jax.block_until_ready(work())
    except Exception as error:
        return str(error)
    return "no error"

def numbers(size):
    return np.arange(size, dtype=np.float32)

jax.devices()
"""


@functools.cache
def refusals() -> str:
    """The library of refusals, compiled."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler")
    built = LIBRARY.parent / "refusals.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return str(built)


def ran(program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program of its own that ends well, after what all of them begin with."""
    loaded = {"LD_PRELOAD": refusals(), **environment}
    done = run(BEGIN + textwrap.dedent(program), loaded)
    assert done.returncode == 0, done.stderr
    return done


def test_without_threads_work_is_done_where_it_is_asked_for():
    done = ran(
        """
        x = numbers(1 << 20)
        call = jax.jit(lambda x: jax.pure_callback(lambda x: x + 1, x, x))
        with refusing(refuse_threads=1):
            assert np.array_equal(jax.jit(lambda x: x * 2 + 1)(x), x * 2 + 1)
            assert np.array_equal(call(x[:8]), x[:8] + 1)
            assert np.array_equal(jnp.sort(-x), np.sort(-x))
        assert np.array_equal(jax.jit(lambda x: x * 3)(x), x * 3)
        tasks = os.listdir("/proc/self/task")
        threads = {open(f"/proc/self/task/{task}/comm").read() for task in tasks}
        print(any(name.startswith("tpu-emu-") for name in threads))
        """,
        TPU_EMU_LOG="warn",
        TPU_EMU_THREADS="2",
        JAX_PLATFORMS="tpu,cpu",
    )
    assert done.stdout == "refused True\nTrue\n"
    assert "no threads: work is done where it is asked for" in done.stdout + done.stderr


@pytest.mark.parametrize("refused", ["refuse_memfd", "refuse_code", "files", "size"])
def test_without_memory_for_machine_code_loops_are_interpreted(refused):
    taken = {
        "files": """
        def taken():
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, hard))
            return contextlib.nullcontext()
        """,
        "size": """
        def taken():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            return contextlib.nullcontext()
        """,
    }
    refusal = f"""
        def taken():
            return refusing({refused}=1)
        """
    done = ran(
        taken.get(refused, refusal)
        + """
        x = numbers(1 << 20) % 100
        def f(x):
            return jnp.where(x > 3, x * x - 2 * x, -x) + 1
        expected = np.where(x > 3, x * x - 2 * x, -x) + 1
        compiled = jax.jit(f).lower(x).compile()
        with taken():
            for _ in range(6):
                assert np.array_equal(compiled(x), expected)
        assert np.array_equal(compiled(x), expected)
        """,
        TPU_EMU_LOG="warn",
    )
    assert "refused False" not in done.stdout
    log = (done.stdout + done.stderr).count("no memory for machine code: loops are interpreted")
    assert log == 1


def test_a_device_without_memory_of_the_host_says_so_and_goes_on():
    done = ran(
        """
        kept = jax.device_put(numbers(1000))
        big = np.ones(64 << 20, np.float32)
        given = jax.device_put(numbers(1 << 18))
        both = jax.jit(lambda x: (x + 1, jnp.zeros(1 << 26) + x[0]), donate_argnums=0)
        with refusing(refuse_memory=1):
            print(failure(lambda: jax.device_put(big)))
            print(failure(lambda: jax.jit(lambda x: jnp.zeros(1 << 26) + x[0])(kept)))
            print(failure(lambda: both(given)))
            assert not given.is_deleted()
            assert np.array_equal(kept + 1, numbers(1000) + 1)
        assert np.array_equal(jax.device_put(big), big)
        one, two = both(given)
        assert np.array_equal(one, numbers(1 << 18) + 1) and float(two[-1]) == 0
        assert np.array_equal(kept, numbers(1000))
        """
    )
    *errors, counted = done.stdout.splitlines()
    assert (len(errors), counted) == (3, "refused True")
    for error in errors:
        assert error.startswith("RESOURCE_EXHAUSTED: the host has no room for ")
        assert "of device memory: Cannot allocate memory (os error 12)" in error


def test_whole_arrays_that_the_host_cannot_hold_fail_one_run():
    done = ran(
        """
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        sharding = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i"))
        x = jax.device_put(numbers(1 << 22), sharding)
        compiled = jax.jit(lambda x: jnp.sort(x)[::-1] + 1, out_shardings=sharding)
        expected = numbers(1 << 22)[::-1] + 1
        with refusing(refuse_blocks=8 << 20):
            print(failure(lambda: compiled(x)))
        assert np.array_equal(compiled(x), expected)
        """
    )
    error, counted = done.stdout.splitlines()
    assert counted == "refused True"
    assert "the host has no room for 32 MiB of temporaries" in error
    assert "RESOURCE_EXHAUSTED" in error


def test_a_host_that_is_short_of_memory_is_named_before_it_ends_the_process(tmp_path):
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 9000000 kB\nMemAvailable: 300000 kB\nSwapFree: 0 kB\n")
    done = ran(
        f"""
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        path = (ctypes.c_char * 4096).in_dll(refusals, "told_memory")
        sharding = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i"))
        big = np.ones(100 << 20, np.float32)
        path.value = {str(told)!r}.encode()
        print(failure(lambda: jnp.ones(100 << 20, jnp.float32)))
        print(failure(lambda: jax.device_put(big)))
        print(failure(lambda: jax.jit(lambda: jnp.ones(100 << 20), out_shardings=sharding)()))
        assert float(jnp.ones(30 << 20, jnp.float32)[-1]) == 1
        path.value = b""
        assert float(jnp.ones(100 << 20, jnp.float32)[-1]) == 1
        """
    )
    one, put, sharded = done.stdout.splitlines()
    assert (
        "the host has no room for 400 MiB of results and temporaries: it has 300000 KiB left" in one
    )
    assert "of an array: it has 300000 KiB left" in put
    assert "of a run over whole arrays: it has 300000 KiB left" in sharded
    assert all("RESOURCE_EXHAUSTED" in error for error in (one, put, sharded))


def test_a_limit_on_addresses_fails_what_is_too_large_and_nothing_else():
    done = ran(
        """
        big = np.ones(128 << 20, np.float32)
        small = jax.device_put(numbers(1000))
        assert float(small[3] + 1) == 4
        [line] = [line for line in open("/proc/self/status") if line.startswith("VmSize")]
        before = int(line.split()[1]) << 10
        resource.setrlimit(resource.RLIMIT_AS, (before + (128 << 20), resource.RLIM_INFINITY))
        other = jax.devices()[1]
        print(failure(lambda: jax.device_put(big, other)))
        assert np.array_equal(small, numbers(1000))
        assert float(jax.device_put(np.float32(5), other) + 1) == 6
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        assert np.array_equal(jax.device_put(big, other), big)
        """
    )
    assert "RESOURCE_EXHAUSTED: the host has no room for " in done.stdout


def test_a_small_stack_is_enough():
    program = """
    import jax
    import jax.numpy as jnp
    def f(x):
        for _ in range(300):
            x = jnp.sin(x) + jax.lax.cond(x[0] > 0, lambda x: x, lambda x: -x, x)
        return x
    print(jax.jit(jax.grad(lambda x: f(x).sum()))(jnp.ones(4)).shape)
    """
    command = ["sh", "-c", 'ulimit -s 1024; exec "$@"', "sh", sys.executable, "-c"]
    done = subprocess.run(
        [*command, textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (done.returncode, done.stdout) == (0, "(4,)\n"), done.stderr
