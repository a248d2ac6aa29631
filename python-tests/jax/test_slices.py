"""Slices of many chips in one process, parts of a host, and programs for devices of others."""

import pytest

from emulator import JAXLIB, output, run

SUM = """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = jax.devices()
    assert devices == jax.local_devices() == sorted(devices, key=lambda device: device.id)
    assert {device.process_index for device in devices} == {jax.process_index()} == {0}
    mesh = Mesh(np.array(devices), "x")
    split = NamedSharding(mesh, PartitionSpec("x"))
    array = jax.device_put(np.arange(len(devices) * 4, dtype=np.float32), split)
    total = jax.jit(jnp.sum)(array)
    assert total == len(devices) * 2 * (len(devices) * 4 - 1)
    print(len(devices), list(devices[-1].coords), devices[-1].id)
"""


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({"TPU_EMU_TOPOLOGY": "v5p:8x8x4"}, "256 [7, 7, 3] 255"),
        ({"TPU_EMU_TOPOLOGY": "v5e:2x2,num_slices=2"}, "8 [1, 1, 0] 200003"),
        ({"TPU_EMU_TOPOLOGY": "v3:4x4"}, "32 [3, 3, 0] 31"),
        ({"TPU_ACCELERATOR_TYPE": "v5p-32"}, "16 [1, 1, 3] 15"),
        ({"TPU_ACCELERATOR_TYPE": "v5litepod-16"}, "16 [3, 3, 0] 15"),
        ({"TPU_VISIBLE_CHIPS": "0,1"}, "2 [1, 0, 0] 1"),
        (
            {
                "TPU_VISIBLE_DEVICES": "2,3",
                "TPU_PROCESS_BOUNDS": "1,1,1",
                "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,2,1",
            },
            "2 [0, 1, 0] 1",
        ),
        ({"TPU_VISIBLE_CHIPS": "7"}, "1 [0, 0, 0] 0"),
        ({"TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"}, "8 [1, 3, 0] 7"),
        ({"MEGASCALE_NUM_SLICES": "2", "TPU_TOPOLOGY": "2x2"}, "8 [1, 1, 0] 200003"),
    ],
    ids=str,
)
def test_all_chips_of_a_process_compute(environment, printed):
    assert output(SUM, environment).strip() == printed


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"TPU_VISIBLE_CHIPS": "0,9"}, "TPU_VISIBLE_CHIPS=0,9: no chip 9"),
        ({"TPU_VISIBLE_CHIPS": ""}, "TPU_VISIBLE_CHIPS=: wanted: different chips"),
        ({"TPU_PROCESS_BOUNDS": "0,0,0"}, "TPU_PROCESS_BOUNDS=0,0,0: wanted: three numbers"),
        ({"TPU_ACCELERATOR_TYPE": "v9-8"}, "TPU_ACCELERATOR_TYPE=v9-8"),
        ({"TPU_PROCESS_BOUNDS": "2,2,1"}, "TPU_PROCESS_BOUNDS=2,2,1 asks for 4 processes"),
    ],
    ids=str,
)
def test_variables_that_cannot_be_are_refused_by_name(environment, words):
    done = run("import jax; jax.devices()", environment)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_host_of_a_slice_has_its_own_devices():
    program = """
        import jax
        print(jax.process_index(), jax.process_count(), [d.id for d in jax.local_devices()])
    """
    own = {"TPU_EMU_TOPOLOGY": "v5e:4x4", "TPU_EMU_PROCESS_INDEX": "1"}
    assert output(program, own) == "1 4 [2, 3, 6, 7]\n"
    harness = {
        "TPU_PROCESS_BOUNDS": "2,2,1",
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
        "TPU_VISIBLE_CHIPS": "3",
        "CLOUD_TPU_TASK_ID": "3",
        "TPU_PROCESS_ADDRESSES": "localhost:1,localhost:2,localhost:3,localhost:4",
        "TPU_PROCESS_PORT": "4",
    }
    assert output(program, harness) == "3 4 [3]\n"


def test_two_slices_are_granules_of_a_hybrid_mesh():
    program = """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax.experimental import mesh_utils
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        grid = mesh_utils.create_hybrid_device_mesh((4, 2), (2, 1))
        print(grid.shape, sorted({(row, d.slice_index) for row in (0, 7) for d in grid[row]}))
        mesh = Mesh(grid, ("data", "model"))
        split = NamedSharding(mesh, PartitionSpec("data", "model"))
        array = jax.device_put(np.ones((8, 8), np.float32), split)
        print(float(jax.jit(lambda x: (x @ x).sum())(array)))
    """
    two = {"TPU_EMU_TOPOLOGY": "v5e:2x4,num_slices=2"}
    assert output(program, two) == "(8, 2) [(0, 0), (7, 1)]\n512.0\n"


def test_more_hbm_than_a_process_has_addresses_is_usable():
    program = """
        import jax
        import numpy as np

        devices = jax.devices()
        held = [jax.device_put(np.full(64, device.id, np.float32), device) for device in devices]
        stats = [device.memory_stats() for device in devices]
        assert {(s["bytes_in_use"], s["bytes_limit"]) for s in stats} == {(512, 102786662400)}
        # Blocks past what the last device has of addresses at first.
        large = [jax.device_put(np.full(40 << 20, n, np.uint8), devices[-1]) for n in range(5)]
        large[1].delete()
        large[1] = jax.device_put(np.full(55 << 20, 9, np.uint8), devices[-1])
        assert [int(array[-1]) for array in large] == [0, 9, 2, 3, 4]
        assert [int(array[0]) for array in large] == [0, 9, 2, 3, 4]
        assert all(np.asarray(array)[5] == index for index, array in enumerate(held))
        print(len(devices), int(sum(float(array.sum()) for array in held[::199])))
    """
    pod = {"TPU_EMU_TOPOLOGY": "v5p:8x10x15"}
    total = sum(64 * number for number in range(0, 1200, 199))
    assert output(program, pod) == f"1200 {total}\n"


@pytest.mark.skipif(JAXLIB < (0, 6), reason="loads have no devices before JAX 0.6")
def test_a_program_that_is_loaded_for_other_devices_is_refused_by_their_ids():
    program = """
        import jax
        import numpy as np
        from jax.experimental import serialize_executable
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        devices = jax.devices()
        mesh = Mesh(np.array(devices[1::-1]), "x")
        split = NamedSharding(mesh, PartitionSpec("x"))
        array = jax.device_put(np.arange(2.0, dtype=np.float32), split)
        saved = serialize_executable.serialize(jax.jit(lambda x: x + 1).lower(array).compile())
        for wanted in (None, devices[:2], devices[1::-1]):
            try:
                load = serialize_executable.deserialize_and_load
                print(np.asarray(load(*saved, execution_devices=wanted)(array)))
            except Exception as error:
                print(str(error).partition(";")[0])
    """
    first, second, third = output(program).splitlines()
    words = "INVALID_ARGUMENT: a program that was compiled for the devices [1, 0] is loaded for"
    assert first == f"{words} [0, 1, 2, 3, 4, 5, 6, 7]"
    assert second == f"{words} [0, 1]"
    assert third == "[1. 2.]"
