"""Traces that exports are made of, and the bytes that they must add up to."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import tpu_emu
from trace_writer import Writer

LEAK = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    kept = []

    @jax.jit
    def step(w, x):
        h = jnp.tanh(x @ w)
        return w - 0.01 * (x.T @ h)

    def leak(w):
        kept.append(jnp.ones((64, 250)) + w[0, 0])

    def train():
        w = jax.device_put(np.ones((256, 256), np.float32))
        x = jax.device_put(np.ones((512, 256), np.float32))
        for _ in range(20):
            w = step(w, x)
            leak(w)
        return w

    w = jax.block_until_ready(train())
    jax.block_until_ready(kept)
    stats = jax.devices()[0].memory_stats()
    print(stats["bytes_in_use"], stats["peak_bytes_in_use"], flush=True)
"""

BLOCK = 8192
"""Bytes of a block of the traces that are written here."""

LOGICAL = 4128
"""Bytes of its elements."""


@dataclass
class Traced:
    """A trace, and what its spaces held in sum."""

    path: Path
    end: int
    peak: int
    devices: int = 1

    def export(self, form: str, *options: str) -> bytes:
        """What the command makes of it."""
        program = tpu_emu.library_path().resolve().parent / "tpu-emu"
        command = [str(program), "export", str(self.path), "--format", form, *options]
        done = subprocess.run(command, capture_output=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout


def begun() -> Writer:
    """A trace with one array type and one frame, whose names hold what formats are made of."""
    writer = Writer()
    writer.start(minor=5)
    writer.put(3, 5, "f32", 2, 8, 129, "{1,0:T(8,128)}", LOGICAL, BLOCK)
    writer.put(4, 900, 1, 1, 'a;b "c"\n</script>\t\N{SNOWMAN}', "/home/u/a b;c.py", 41, "python")
    writer.put(5, 1, 0, 900)
    return writer


def space(writer: Writer, number: int) -> None:
    """The HBM of a device."""
    writer.put(2, number, number + 1, f"TPU_{number}", "device", 1 << 34)


def change(writer: Writer, kind: int, sequence: int, *, of: int = 0, stack: int = 1) -> None:
    """A change of the one array; its address follows from `sequence`, or is that of `of`."""
    address = BLOCK * ((of or sequence) - 1)
    entry = "PJRT_Client_BufferFromHostBuffer"
    writer.put(kind, 0, sequence, address, BLOCK, 5, stack, 77, 1000 * sequence, entry, 0)


def hostile() -> tuple[Writer, int, int]:
    """Odd names, a free, a refusal, a mark, a program and its launch."""
    writer = begun()
    space(writer, 0)
    change(writer, 6, 1)
    change(writer, 6, 2)
    change(writer, 7, 3, of=1)
    writer.put(8, 0, 0, 0, 1 << 40, 5, 1, 77, 3500, "PJRT_Client_BufferFromHostBuffer", 0)
    writer.put(16, 'mark; "x"\n</script>', 1, 77, 3600, 1, 0, 3)
    slot = (128, 4096, 2048, 1, 2, "f32", 2, 16, 32, "{1,0:T(8,128)}", "stablehlo.tanh", "t.py:3")
    other = (0, 128, 4, 0, 1, "f32", 0, "{:T(128)}", "stablehlo.constant", "")
    writer.put(17, 3, "jit_f", 4224, 64, 8192, 8192, 2, *slot, *other, 3)
    for run in range(3):
        times = (4000 + 1000 * run, 4100 + 1000 * run, 4900 + 1000 * run)
        writer.put(20, 3, run, 0, 77, 1, *times, 0)
    change(writer, 6, 4)
    return writer, 2 * BLOCK, 2 * BLOCK


def nothing() -> tuple[Writer, int, int]:
    """A program that allocates nothing."""
    writer = begun()
    space(writer, 0)
    return writer, 0, 0


def cut() -> tuple[Writer, int, int]:
    """A process that was killed while it wrote."""
    writer, *_ = hostile()
    del writer.data[-3:]
    return writer, BLOCK, 2 * BLOCK


def many_devices() -> tuple[Writer, int, int]:
    """256 devices that hold a block each."""
    writer = begun()
    entry = "PJRT_Client_BufferFromHostBuffer"
    for number in range(256):
        space(writer, number)
        writer.put(6, number, 1, 0, BLOCK, 5, 1, 77, 1000 + number, entry, 0)
    return writer, 256 * BLOCK, 256 * BLOCK


def many_stacks() -> tuple[Writer, int, int]:
    """100,000 blocks, each of a stack of its own."""
    writer = begun()
    space(writer, 0)
    count = 100_000
    for number in range(1, count + 1):
        writer.put(4, 1000 + number, 1, 1, f"f{number}", "/home/u/many.py", number, "python")
        writer.put(5, 1 + number, 1, 1000 + number)
        change(writer, 6, number, stack=1 + number)
    return writer, count * BLOCK, count * BLOCK


WRITTEN = {
    "hostile": hostile,
    "nothing": nothing,
    "cut": cut,
    "many_devices": many_devices,
    "many_stacks": many_stacks,
}
