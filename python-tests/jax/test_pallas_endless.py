"""Kernels without an end: an interrupt ends them, and the error names their line."""

import signal
import subprocess
import sys

import pytest

from emulator import JAXLIB

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)

PROGRAM = """
import threading, os, signal, time
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def spins(x_ref, o_ref, count):
    count[0] = 1
    def body(n):
        count[0] = n + 1
        return count[0]
    lax.while_loop(lambda n: n != 0, body, 1)
    o_ref[...] = x_ref[...]

def asks(x_ref, o_ref, ready):
    n = lax.while_loop(lambda n: n == 0, lambda n: pl.semaphore_read(ready), 0)
    o_ref[...] = x_ref[...] + n.astype(jnp.float32)

scratch = {"spins": pltpu.SMEM((1,), jnp.int32), "asks": pltpu.SemaphoreType.REGULAR}
kernel = KERNEL
run = jax.jit(pl.pallas_call(
    kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    scratch_shapes=[scratch[kernel.__name__]]))
x = jnp.ones((8, 128), jnp.float32)
def interrupt():
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    try:
        np.asarray(run(x))
    except jax.errors.JaxRuntimeError:
        time.sleep(1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    print("then", np.asarray(x + 1)[0, 0], signal.getsignal(signal.SIGINT).__name__, flush=True)
except KeyboardInterrupt:
    print("interrupted late", flush=True)
"""


@pytest.mark.parametrize("kernel", ["spins", "asks"])
def test_a_kernel_without_an_end_is_interrupted_and_the_device_goes_on(kernel, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("KERNEL", kernel))
    # A shell that starts the tests in the background lets them, and what they start, hear none.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=False, timeout=120
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stdout.splitlines() == ["interrupted", "then 2.0 default_int_handler"], done.stderr
    [line] = [line for line in done.stderr.splitlines() if "the kernel was here after" in line]
    # Modules of older JAX have no name of their own.
    names = (f"tpu-emu: Mosaic kernel {kernel}: ", "tpu-emu: Mosaic kernel main: ")
    assert line.startswith(names), line
    assert "program.py:" in line
