"""`tpu_emu.snapshot()`: what lives in this process."""

import itertools
import json
import shutil
import textwrap
import threading
from pathlib import Path

import jax
import numpy as np
import pytest
from test_command import command

import tpu_emu
from emulator import LIBRARY, output


def test_a_scalar_is_one_allocation_of_512_bytes_until_it_is_deleted():
    array = jax.device_put(1)

    [change] = tpu_emu.snapshot().live

    assert change.kind is tpu_emu.Kind.ALLOCATE
    assert (change.device, str(change.space)) == (0, "TPU_0 device")
    assert (change.size, change.spec.logical_bytes, change.spec.padded_bytes) == (512, 4, 512)
    assert str(change.spec) == "s32[]{:T(128)}"
    assert change.entry == "PJRT_Client_BufferFromHostBuffer"
    array.delete()
    assert tpu_emu.snapshot().live == ()


KEPT = """
    import jax.numpy as jnp
    import tpu_emu

    class Trainer:
        history = [jnp.ones((8, 128)) for _ in range(30)]

    def hold():
        kept = jnp.ones((300, 300))
        return lambda: kept

    trainer, callback = Trainer(), hold()
    tpu_emu.save_snapshot("named.trace")
    tpu_emu.save_snapshot("plain.trace", names=False)
"""


def test_a_saved_snapshot_names_what_keeps_each_array(tmp_path):
    output(f"import os\nos.chdir({str(tmp_path)!r})\n" + textwrap.dedent(KEPT))
    named, plain = tmp_path / "named.trace", tmp_path / "plain.trace"
    assert tpu_emu.read(named).live == tpu_emu.read(plain).live
    rows = json.loads(command("summary", named, "--json").stdout)["spaces"][0]["end"]["rows"]
    names = {name for row in rows for name in row["names"]}
    wanted = {f"__main__.Trainer.history[{at}]" for at in range(30)}
    assert names == wanted | {"__main__.callback.<closure kept>"}
    text = command("summary", named).stdout.decode()
    assert "kept by __main__.callback.<closure kept>" in text
    assert "and by 27 other names" in text
    assert "kept by" not in command("summary", plain).stdout.decode()
    # Each name stands with the line that took its array.
    by_line = {row["key"].split(":")[1].split(" ")[1]: set(row["names"]) for row in rows}
    assert by_line["hold"] == {"__main__.callback.<closure kept>"}, by_line
    page = tmp_path / "named.html"
    assert command("report", named, "-o", page).returncode == 0


def test_it_tells_the_process_its_devices_and_how_full_they_are():
    array = jax.device_put(np.zeros((8, 128), np.float32), jax.devices()[6])
    trace = tpu_emu.snapshot()
    assert trace.complete
    assert trace.header.topology.startswith("v5e:2x4")
    kinds = [str(space) for space in trace.spaces]
    hosts = ["host pinned_host", "host unpinned_host"]
    assert kinds == [*(f"TPU_{device} device" for device in range(8)), *hosts]
    [usage] = [usage for usage in trace.usages if usage.space.device == 6]
    assert usage.in_use_bytes == jax.devices()[6].memory_stats()["bytes_in_use"] == 4096
    array.delete()


def test_allocations_stand_in_the_order_they_were_made():
    arrays = [jax.device_put(np.zeros(n, np.int8)) for n in (1, 2, 3)]
    arrays[0].delete()
    arrays.append(jax.device_put(np.zeros(4, np.int8)))
    live = tpu_emu.snapshot().live
    assert [change.spec.shape for change in live] == [(2,), (3,), (4,)]
    times = [change.time_ns for change in live]
    assert times == sorted(times)
    for array in arrays[1:]:
        array.delete()


def test_the_library_that_is_loaded_is_found():
    jax.devices()
    assert tpu_emu.library_path().resolve() == LIBRARY


@pytest.mark.parametrize("how", ["copy", "link"])
@pytest.mark.parametrize("variable", ["TPU_LIBRARY_PATH", "PJRT_NAMES_AND_LIBRARY_PATHS"])
def test_the_file_of_the_library_may_have_any_name(tmp_path, how: str, variable: str):
    renamed = tmp_path / "my chip.so"
    if how == "copy":
        shutil.copy(LIBRARY, renamed)
    else:
        renamed.symlink_to(LIBRARY)
    plugin = variable == "PJRT_NAMES_AND_LIBRARY_PATHS"
    environment = {
        variable: f"chip:{renamed}" if plugin else str(renamed),
        "JAX_PLATFORMS": "chip" if plugin else "tpu",
    }
    program = """
        import os
        os.environ.pop("TPU_EMU_LIBRARY", None)
        import jax, tpu_emu
        array = jax.device_put(1)
        [change] = tpu_emu.snapshot().live
        print(change.size, tpu_emu.library_path())
    """
    size, _, path = output(program, environment).strip().partition(" ")
    assert size == "512"
    assert Path(path).samefile(renamed)


def test_it_equals_what_eight_threads_hold_after_1600_puts():
    held: list[tuple[int, jax.Array]] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        device = jax.devices()[number % 4]
        start.wait()
        for turn in range(200):
            values = np.full(1 + turn * 7 % 300, number, np.int32)
            array = jax.device_put(values, device)
            if turn % 10 == number:
                held.append((number, array))
            else:
                array.delete()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    live = tpu_emu.snapshot().live
    taken = sorted((change.device, change.spec.shape) for change in live)
    assert taken == sorted((number % 4, array.shape) for number, array in held)
    assert len(taken) == 8 * 20
    blocks = sorted((change.device, change.address, change.size) for change in live)
    for (device, address, size), (following, higher, _) in itertools.pairwise(blocks):
        assert device != following or address + size <= higher
    for number, array in held:
        assert (np.asarray(array) == number).all()
        array.delete()
    assert tpu_emu.snapshot().live == ()
