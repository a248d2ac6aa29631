"""`jax.profiler.trace` has a plane of each device that ran, and every change in its memory."""

from pathlib import Path

import jax
import pytest

from emulator import run

PROGRAM = """
    import sys

    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.jit
    def step(w, x):
        return w - 0.01 * (x.T @ jnp.tanh(x @ w))

    w = jax.device_put(np.ones((256, 256), np.float32))
    x = jax.device_put(np.ones((512, 256), np.float32))
    w = jax.block_until_ready(step(w, x))
    for folder in sys.argv[1:]:
        with jax.profiler.trace(folder):
            kept = jax.device_put(np.ones((1024, 128), np.float32))
            for _ in range(5):
                w = step(w, x)
            jax.block_until_ready((w, kept))
        del kept
    jax.block_until_ready(step(w, x))
"""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two profiles of one process, one after the other."""
    folders = [tmp_path_factory.mktemp("profile") for _ in range(2)]
    program = PROGRAM.replace("sys.argv[1:]", repr([str(folder) for folder in folders]))
    done = run(program, {})
    assert done.returncode == 0, done.stderr
    return [path for folder in folders for path in folder.glob("plugins/profile/*/*.xplane.pb")]


def test_each_profile_has_a_plane_of_the_device(profiles):
    assert len(profiles) == 2
    for path in profiles:
        data = path.read_bytes()
        assert b"/device:TPU:0" in data
        assert b"/device:TPU:1" not in data
        assert b"TPU v5 lite" in data
        assert b"MemoryAllocation" in data
        assert b"Hlo Proto" in data


READER = getattr(jax.profiler, "ProfileData", None)


@pytest.mark.skipif(not hasattr(READER, "from_file"), reason="JAX cannot read profiles")
def test_steps_modules_and_operations_of_a_profile_are_those_that_ran_in_it(profiles):
    for path in profiles:
        assert READER is not None
        data = READER.from_file(str(path))
        [device] = [plane for plane in data.planes if plane.name == "/device:TPU:0"]
        lines = {line.name: list(line.events) for line in device.lines}
        modules = [event for event in lines["XLA Modules"] if event.name.startswith("jit_step(")]
        assert len(modules) == 5
        operations = lines["XLA Ops"]
        assert any("dot_general" in event.name for event in operations)
        for module in modules:
            inside = [
                event
                for event in operations
                if module.start_ns <= event.start_ns and event.end_ns <= module.end_ns
            ]
            assert inside
        stats = dict(modules[0].stats)
        assert stats["program_id"] > 0
        host = [plane for plane in data.planes if plane.name.startswith("/host:")]
        events = [event for plane in host for line in plane.lines for event in line.events]
        sizes = [
            dict(event.stats)["allocation_bytes"]
            for event in events
            if event.name == "MemoryAllocation"
        ]
        assert 1024 * 128 * 4 in sizes


def test_a_profile_without_a_device_s_work_is_a_profile(tmp_path):
    program = f"""
        import jax
        with jax.profiler.trace({str(tmp_path)!r}):
            jax.devices()
    """
    done = run(program, {})
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
