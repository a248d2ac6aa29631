"""Hosts of a slice that end, stop, do not come, or are there twice."""

import pathlib
import signal

import pytest

from emulator import JAXLIB
from hosts import ended, said, start

# Older ones give a TPU no store through which processes could meet.
pytestmark = pytest.mark.skipif(JAXLIB < (0, 8), reason="JAX gives no store of keys and values")

KILLED = """
import signal, time
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("x")), lambda _: np.zeros(1))
total = jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))
float(total(x))
if me == int(os.environ["KILLED"]):
    if os.environ.get("FORK") and os.fork() == 0:
        time.sleep(12)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
begun = time.monotonic()
try:
    float(total(x))
except Exception as error:
    print("failed", time.monotonic() - begun < 10, error, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("killed", [0, 1])
def test_a_process_that_is_killed_fails_the_runs_of_the_others_with_its_number(killed: int):
    processes = start(KILLED, [0, 1], 2, {"KILLED": str(killed)})
    out, errors = processes[1 - killed].communicate(timeout=120)
    processes[killed].communicate(timeout=120)
    # The client of JAX may end a process whose coordinator is gone.
    if processes[1 - killed].returncode == 0 or killed == 1:
        assert "failed True" in out, errors
        assert f"process {killed} of the slice is gone" in out


LISTED = """
try:
    said = len(jax.devices())
except Exception as error:
    said = f"refused {error}"
print(said, flush=True)
from jax._src import distributed
distributed.global_state.client.wait_at_barrier("said", 60_000)
os._exit(0)
"""


def test_a_host_that_never_joins_is_named():
    texts = said(
        start(
            LISTED,
            [0, 1],
            2,
            {
                "TPU_EMU_TOPOLOGY": "v5e:2x4,chips_per_host_bounds=1x2x1",
                "TPU_EMU_HOSTS_TIMEOUT": "6",
            },
        )
    )
    for text in texts:
        assert "the slice has 4 processes; after 6s 2, 3 had not joined, 0, 1 had" in text


def test_two_processes_with_one_number_are_both_refused():
    for text in said(start(LISTED, [1, 1], 2)):
        assert "two processes say that they are process 1 of the slice" in text


def test_two_of_three_processes_with_one_number_are_told_to_the_third_one_too():
    hosts = {"TPU_EMU_TOPOLOGY": "v5e:2x4,chips_per_host_bounds=1x2x1"}
    for text in said(start(LISTED, [0, 1, 1], 3, hosts)):
        assert "two processes say that they are process 1 of the slice" in text


def test_a_killed_process_leaves_no_file(tmp_path: pathlib.Path):
    processes = start(KILLED, [0, 1], 2, {"KILLED": "1", "TMPDIR": str(tmp_path)})
    for process in processes:
        process.communicate(timeout=120)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_whose_child_lives_on_is_gone(killed: int):
    processes = start(KILLED, [0, 1], 2, {"KILLED": str(killed), "FORK": "1"})
    out, errors = processes[1 - killed].communicate(timeout=120)
    assert "failed True" in out, errors
    assert f"process {killed} of the slice is gone: it has ended" in out
    processes[killed].communicate(timeout=120)


MIDDLE = """
import signal, time
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("x")), lambda _: np.zeros(1))
def end(a):
    if me == int(os.environ["ENDED"]):
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
        time.sleep(60)  # Any thread may take the signal: this one is stopped a moment later.
    return a
called = jax.jit(jax.shard_map(
    lambda a: jax.pure_callback(end, jax.ShapeDtypeStruct(a.shape, a.dtype), a),
    mesh=mesh, in_specs=P("x"), out_specs=P("x")))
begun = time.monotonic()
try:
    print("ran", jax.block_until_ready(called(x)))
except Exception as error:
    print("failed", time.monotonic() - begun < 10, error, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("killed", [0, 1])
def test_a_process_that_is_killed_in_the_middle_of_a_run_ends_it(killed: int):
    kill = {"ENDED": str(killed), "SIGNAL": str(int(signal.SIGKILL))}
    processes = start(MIDDLE, [0, 1], 2, kill)
    out, errors = processes[1 - killed].communicate(timeout=120)
    processes[killed].communicate(timeout=120)
    # The client of JAX may end a process whose coordinator is gone.
    if processes[1 - killed].returncode == 0 or killed == 1:
        assert "failed True" in out, errors
        assert f"process {killed} of the slice is gone" in out


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_process_that_stops_in_the_middle_of_a_run_does_not_hold_the_others_for_ever(
    stopped: int,
):
    stop = {"ENDED": str(stopped), "SIGNAL": str(int(signal.SIGSTOP))}
    processes = start(MIDDLE, [0, 1], 2, stop | {"TPU_EMU_HOSTS_TIMEOUT": "8"})
    out, errors = processes[1 - stopped].communicate(timeout=120)
    processes[stopped].kill()
    processes[stopped].communicate(timeout=120)
    assert "failed" in out, errors
    assert f"process {stopped} of the slice" in out
    assert "has not answered for 4s" in out


def test_a_program_that_takes_long_is_waited_for():
    long = MIDDLE.replace('os.kill(os.getpid(), int(os.environ["SIGNAL"]))', "pass")
    long = long.replace("time.sleep(60)", "time.sleep(9)")
    variables = {"ENDED": "0", "TPU_EMU_HOSTS_TIMEOUT": "8"}
    for out in ended(start(long, [0, 1], 2, variables)):
        assert "ran" in out


def test_a_host_that_the_topology_does_not_have_is_refused():
    # In its CPU backend JAX waits for all processes.
    texts = said(start(LISTED, [0, 1, 2], 3, {"JAX_PLATFORMS": "tpu"}))
    assert "TPU_EMU_PROCESS_INDEX=2: the topology has 2 processes" in texts[2]
    assert [text.strip() for text in texts[:2]] == ["4", "4"]


def test_more_processes_than_hosts_are_refused_in_all_with_the_numbers():
    variables = {"TPU_EMU_TOPOLOGY": "v5e:4x4", "TPU_EMU_PROCESS_INDEX": ""}
    for text in said(start(LISTED, [0, 1], 2, variables)):
        assert "num_processes of jax.distributed.initialize 2 says 2 processes" in text
        assert "4 hosts" in text
