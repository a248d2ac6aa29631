"""The devices that JAX sees: a host with eight chips of v5e, in the words of the real library."""

import pytest
from emulator import LIBRARY, output
from jax.experimental import mesh_utils

import jax


def test_the_default_is_a_host_of_eight_v5e_chips():
    devices = jax.devices()
    assert len(devices) == jax.device_count() == jax.local_device_count() == 8
    assert {device.platform for device in devices} == {"tpu"}
    assert {device.device_kind for device in devices} == {"TPU v5 lite"}
    assert [device.id for device in devices] == list(range(8))
    assert [device.local_hardware_id for device in devices] == list(range(8))
    assert {device.process_index for device in devices} == {0}
    assert jax.default_backend() == "tpu"


def test_chips_have_coordinates_that_fill_a_cuboid():
    devices = jax.devices()
    coords = [tuple(device.coords) for device in devices]
    assert coords == [(x, y, 0) for y in range(4) for x in range(2)]
    assert {device.core_on_chip for device in devices} == {0}
    assert {device.num_cores for device in devices} == {1}


def test_a_device_reads_as_the_real_library_writes_it():
    device = jax.devices()[1]
    assert str(device) == "TPU_1(process=0,(1,0,0,0))"
    assert repr(device) == "TpuDevice(id=1, process_index=0, coords=(1,0,0), core_on_chip=0)"


def test_the_platform_version_says_which_chip_and_that_it_is_emulated():
    version = jax.devices()[0].client.platform_version
    assert "TFRT TPU v5 lite" in version
    assert "tpu-emu" in version


def test_every_device_has_hbm_by_default_and_two_kinds_of_host_memory():
    for device in jax.devices():
        kinds = [memory.kind for memory in device.addressable_memories()]
        assert kinds == ["device", "pinned_host", "unpinned_host"]
        assert device.default_memory().kind == "device"
        assert [device.memory(kind).kind for kind in kinds] == kinds


def test_an_unknown_memory_kind_is_refused_with_the_known_ones():
    with pytest.raises(Exception, match=r"device, pinned_host, unpinned_host.*vmem"):
        jax.devices()[0].memory("vmem")


@pytest.mark.parametrize(
    ("topology", "kind", "count"),
    [
        ("v2:2x2", "TPU v2", 8),
        ("v4:2x2x1", "TPU v4", 8),
        ("v5p:2x2x1", "TPU v5", 4),
        ("v6e:1x1", "TPU v6 lite", 1),
    ],
)
def test_the_environment_chooses_the_chips(topology, kind, count):
    program = "import jax; print(len(jax.devices()), jax.devices()[0].device_kind)"
    assert output(program, {"TPU_EMU_TOPOLOGY": topology}) == f"{count} {kind}\n"


def test_the_plugin_can_be_loaded_by_the_name_of_its_platform():
    program = """
        import os
        del os.environ["TPU_LIBRARY_PATH"]
        import jax
        import numpy as np
        print(len(jax.devices()), np.asarray(jax.device_put(np.arange(3))))
    """
    where = {"PJRT_NAMES_AND_LIBRARY_PATHS": f"tpu:{LIBRARY}"}
    assert output(program, where) == "8 [0 1 2]\n"


@pytest.mark.parametrize(
    ("name", "kind", "coords"),
    [
        ("v5e:2x2", "TPU v5 lite", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]),
        ("v5p:2x2x1", "TPU v5", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]),
    ],
)
def test_a_topology_can_be_described_without_its_devices(name, kind, coords):
    from jax.experimental import topologies  # noqa: PLC0415 (it is slow to import)

    devices: Sequence[Any] = topologies.get_topology_desc(name, platform="tpu").devices
    assert [tuple(device.coords) for device in devices] == coords
    assert {device.device_kind for device in devices} == {kind}


def test_a_topology_without_a_meaning_is_refused_by_name():
    from jax.experimental import topologies  # noqa: PLC0415 (it is slow to import)

    with pytest.raises(Exception, match="TPU v99"):
        topologies.get_topology_desc("v99:2x2", platform="tpu")


def test_a_mesh_follows_the_coordinates_of_all_chips():
    devices = mesh_utils.create_device_mesh((4, 2))
    assert devices.shape == (4, 2)
    assert set(devices.flat) == set(jax.devices())
