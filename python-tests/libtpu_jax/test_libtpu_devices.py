"""The devices that jax 0.4.13 sees through the libtpu C API: a host with eight v5e chips."""

import re

import jax
import pytest

import tpu_emu
from emulator import output, run


def test_the_default_is_a_host_of_eight_chips():
    devices = jax.devices()
    assert len(devices) == jax.device_count() == jax.local_device_count() == 8
    assert {device.platform for device in devices} == {"tpu"}
    assert [device.id for device in devices] == list(range(8))
    assert {device.process_index for device in devices} == {0}
    assert jax.process_index() == 0
    assert jax.process_count() == 1
    assert jax.default_backend() == "tpu"


def test_chips_have_the_coordinates_of_the_topology():
    devices = jax.devices()
    assert [tuple(device.coords) for device in devices] == [
        (x, y, 0) for y in range(4) for x in range(2)
    ]
    assert {device.core_on_chip for device in devices} == {0}


def test_the_client_is_the_one_of_the_old_interface():
    client = jax.devices()[0].client
    assert client.runtime_type == "stream_executor"
    assert "tpu-emu" in client.platform_version


def test_devices_have_the_names_that_the_client_knows():
    # The client knows chips to v4 and calls all later ones so.
    assert {device.device_kind for device in jax.devices()} == {"TPU v4"}
    assert repr(jax.devices()[1]) == "tpu(id=1)"


@pytest.mark.parametrize(
    ("topology", "kind", "count", "cores"),
    [
        ("v2:2x2", "TPU v2", 8, {0, 1}),
        ("v3:2x2", "TPU v3", 8, {0, 1}),
        ("v4:2x2x1", "TPU v4", 8, {0, 1}),
        ("v5e:1x1", "TPU v4", 1, {0}),
    ],
)
def test_the_environment_chooses_the_chips(topology, kind, count, cores):
    program = """
        import jax
        devices = jax.devices()
        assert [device.id for device in devices] == list(range(len(devices)))
        assert len({(*device.coords, device.core_on_chip) for device in devices}) == len(devices)
        print(len(devices), devices[0].device_kind, {device.core_on_chip for device in devices})
    """
    assert output(program, {"TPU_EMU_TOPOLOGY": topology}) == f"{count} {kind} {cores}\n"


def test_a_topology_without_a_meaning_is_told_and_ends_the_start():
    done = run("import jax; jax.devices()", {"TPU_EMU_TOPOLOGY": "v99:2x2"})
    assert done.returncode == 1
    assert "v99" in done.stderr


def test_another_client_of_the_process_sees_the_same_heap():
    array = jax.block_until_ready(jax.device_put(1))
    [change] = tpu_emu.snapshot().live
    assert change.entry == "TpuExecutor_Allocate"
    array.delete()


def test_the_log_has_every_call_of_the_old_interface_with_its_time():
    program = "import jax; print(float(jax.device_put(2.0)))"
    done = run(program, {"TPU_EMU_LOG": "debug"})
    assert done.returncode == 0, done.stderr
    log = re.sub("\x1b\\[[0-9;]*m", "", done.stdout + done.stderr)
    spans = re.findall(r'call\{function="(\w+)"\}: \S+: close time\.busy=\S+ time\.idle=', log)
    assert {"TpuPlatform_Initialize", "TpuExecutor_Allocate"} < set(spans)
