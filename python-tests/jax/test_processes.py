"""Several processes are the hosts of one slice."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest

from emulator import JAXLIB, LIBRARY

# Older ones give a TPU no store through which processes could meet.
pytestmark = pytest.mark.skipif(JAXLIB < (0, 8), reason="JAX gives no store of keys and values")

START = """
import os, sys
import numpy as np
import jax
me, count, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if count > 1:
    jax.distributed.initialize(f"localhost:{port}", count, me)
import jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

HOSTS = "v5e:2x2,chips_per_host_bounds=1x2x1"


def port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def start(
    program: str, numbers: list[int], count: int, variables: dict[str, str] | None = None
) -> list[subprocess.Popen[str]]:
    """A process for each of these numbers, which run a program of JAX.

    A variable that is empty is not there.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TPU_")}
    ours |= {
        "TPU_LIBRARY_PATH": str(LIBRARY),
        "JAX_PLATFORMS": "tpu,cpu",
        "TPU_EMU_TOPOLOGY": HOSTS,
    }
    meet = str(port())
    processes = []
    for place, number in enumerate(numbers):
        its = ours | {"TPU_EMU_PROCESS_INDEX": str(number)} | (variables or {})
        process = subprocess.Popen(
            [sys.executable, "-c", START + program, str(place), str(count), meet],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in its.items() if value},
        )
        processes.append(process)
    return processes


def said(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What each has said, however it has ended."""
    return [process.communicate(timeout=120)[0] for process in processes]


def ended(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What each has said that must succeed."""
    outputs = []
    for process in processes:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        outputs.append(out)
    return outputs


STEP = """
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
rows, both = NamedSharding(mesh, P("data")), NamedSharding(mesh, P("data", "model"))
rng = np.random.default_rng(0)
whole = {name: rng.normal(size=shape).astype(np.float32)
         for name, shape in {"w": (32, 16), "v": (16, 8), "x": (8, 32), "y": (8, 8)}.items()}
split = {"w": NamedSharding(mesh, P(None, "model")), "v": NamedSharding(mesh, P("model", None)),
         "x": rows, "y": rows}
put = lambda name: jax.make_array_from_callback(
    whole[name].shape, split[name], lambda index: whole[name][index])
w, v, x, y = map(put, "wvxy")

def loss(weights, x, y):
    w, v = weights
    return jnp.mean((jax.nn.gelu(x @ w) @ v - y) ** 2)

@jax.jit
def step(weights, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda one, slope: one - 0.1 * slope, weights, slopes), value

weights, curve = (w, v), []
for _ in range(4):
    weights, value = step(weights, x, y)
    curve.append(np.asarray(value).tobytes().hex())
print("curve", curve)
held = jax.shard_map if hasattr(jax, "shard_map") else None
if held is not None:
    parts = held(lambda a: jax.lax.psum(a * (1 + jax.lax.axis_index("data")), "data"),
                 mesh=mesh, in_specs=P("data", "model"), out_specs=P(None, "model"))
    total = jax.jit(parts)(jax.device_put(w, both))
    print("psum", np.asarray(multihost_utils.process_allgather(total, tiled=True)).sum())
"""


def test_a_training_step_gives_the_bits_of_one_process():
    [alone] = ended(start(STEP, [0], 1, {"TPU_EMU_TOPOLOGY": "v5e:2x2"}))
    several = ended(start(STEP, [0, 1], 2))
    assert several == [alone, alone]
    assert "curve" in alone


TRANSFORMER = """
shape = (4, 2) if jax.device_count() == 8 else (1, 1)
mesh = Mesh(np.array(jax.devices()).reshape(shape), ("data", "model"))
at = lambda *axes: NamedSharding(mesh, P(*axes))
layers, width, heads, length, words, batch = 2, 32, 4, 16, 64, 8
rng = np.random.default_rng(0)
forms = {"in": ((words, width), at()), "out": ((width, words), at(None, "model"))}
for number in range(layers):
    forms[f"qkv{number}"] = ((width, 3, heads, width // heads), at(None, None, "model"))
    forms[f"mix{number}"] = ((heads, width // heads, width), at("model"))
    forms[f"up{number}"] = ((width, 4 * width), at(None, "model"))
    forms[f"down{number}"] = ((4 * width, width), at("model"))

def put(whole, split):
    return jax.make_array_from_callback(whole.shape, split, lambda index: whole[index])

draw = lambda form: (rng.normal(size=form) / np.sqrt(form[0])).astype(np.float32)
weights = {name: put(draw(form), split) for name, (form, split) in forms.items()}
text = put(rng.integers(0, words, (batch, length + 1)).astype(np.int32), at("data"))

def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

def loss(weights, text):
    x = weights["in"][text[:, :-1]]
    mask = jnp.tril(jnp.ones((length, length), bool))
    for number in range(layers):
        q, k, v = jnp.einsum("bsd,dchk->cbhsk", norm(x), weights[f"qkv{number}"])
        scores = jnp.where(mask, jnp.einsum("bhsk,bhtk->bhst", q, k) / np.sqrt(q.shape[-1]), -1e9)
        seen = jnp.einsum("bhst,bhtk->bshk", jax.nn.softmax(scores), v)
        x = x + jnp.einsum("bshk,hkd->bsd", seen, weights[f"mix{number}"])
        x = x + jax.nn.gelu(norm(x) @ weights[f"up{number}"]) @ weights[f"down{number}"]
    chances = jax.nn.log_softmax(norm(x) @ weights["out"])
    return -jnp.mean(jnp.take_along_axis(chances, text[:, 1:, None], -1))

@jax.jit
def step(weights, text):
    value, slopes = jax.value_and_grad(loss)(weights, text)
    return jax.tree.map(lambda one, slope: one - 0.3 * slope, weights, slopes), value

curve = []
for _ in range(4):
    weights, value = step(weights, text)
    curve.append(np.asarray(value))
assert curve[-1] < curve[0]
print("curve", [value.tobytes().hex() for value in curve])
"""


def test_a_transformer_on_four_hosts_learns_with_the_bits_of_one_chip():
    [one] = ended(start(TRANSFORMER, [0], 1, {"TPU_EMU_TOPOLOGY": "v5e:1x1"}))
    hosts = {"TPU_EMU_TOPOLOGY": "v5e:2x4,chips_per_host_bounds=1x2x1"}
    assert ended(start(TRANSFORMER, [0, 1, 2, 3], 4, hosts)) == [one] * 4
    assert "curve" in one


TALK = """
assert (jax.process_index(), jax.process_count()) == (me, count)
assert (len(jax.local_devices()), len(jax.devices())) == (2, 4)
multihost_utils.sync_global_devices("begun")
print("gathered", multihost_utils.process_allgather(np.array([me, 10 * me])).tolist())
print("told", multihost_utils.broadcast_one_to_all(np.array([me + 5])).tolist())
mesh = Mesh(np.array(jax.devices()), ("x",))
split = NamedSharding(mesh, P("x"))
mine = np.arange(2, dtype=np.float32) + 2 * me
x = jax.make_array_from_process_local_data(split, mine, (4,))
seen = []
def note(a):
    seen.append(float(np.asarray(a)[0]))
    return np.asarray(a) + 100 * me
called = jax.shard_map(
    lambda a: jax.pure_callback(note, jax.ShapeDtypeStruct(a.shape, a.dtype), a),
    mesh=mesh, in_specs=P("x"), out_specs=P("x"))
y = jax.jit(called)(x)
print("called", [float(one.data[0]) for one in y.addressable_shards], sorted(seen))
empty = jax.jit(lambda a: a[:0].sum() + a.shape[0], out_shardings=NamedSharding(mesh, P()))(x)
print("empty", float(empty))
big = jax.jit(lambda a: jnp.broadcast_to(a[:, None], (4, 40000)) * 2, out_shardings=split)(x)
print("big", [float(one.data.sum()) for one in big.addressable_shards])
given = jax.jit(lambda a: a + 1, donate_argnums=0, out_shardings=split)(x)
print("given", x.is_deleted(), [float(one.data[0]) for one in given.addressable_shards])
multihost_utils.sync_global_devices("done")
"""


def test_processes_talk_to_one_another_and_callbacks_run_in_their_own():
    for me, text in enumerate(ended(start(TALK, [0, 1], 2))):
        assert "gathered [[0, 0], [1, 10]]" in text
        assert "told [5]" in text
        own = [2.0 * me, 2.0 * me + 1]
        assert f"called {[one + 100 * me for one in own]} {own}" in text
        assert "empty 4.0" in text
        assert f"big {[80000.0 * one for one in own]}" in text
        assert f"given True {[one + 1 for one in own]}" in text


MOVED = """
here, there = (jax.devices()[2 * number : 2 * number + 2] for number in range(2))
def split(devices, spec=P("x")):
    return NamedSharding(Mesh(np.array(devices), ("x",)), spec)
for form, dtype in [((6, 3), np.float32), ((0, 3), np.float32), ((2, 5), jnp.int4), ((), bool)]:
    whole = np.arange(np.prod(form, dtype=int)).reshape(form).astype(dtype)
    spec = P("x") if form else P()
    x = jax.device_put(whole, split(here, spec))
    y = jax.device_put(x, split(there, spec))
    z = jax.device_put(y, split(here, spec))
    for number, parts in ((1, y), (0, z)):
        for part in parts.addressable_shards if me == number else []:
            assert np.array_equal(np.asarray(part.data), whole[part.index]), (form, part)
print("moved", flush=True)
x = jax.device_put(jnp.ones(2), split(here))
if me == 1:
    y = jax.device_put(x, split(there))
    try:
        print(y.addressable_shards[0].data.block_until_ready())
    except Exception as error:
        print("late", error, flush=True)
from jax._src import distributed
distributed.global_state.client.wait_at_barrier("done", 60_000)
"""


def test_arrays_move_between_processes_and_those_that_nobody_sends_end_the_wait():
    for me, text in enumerate(ended(start(MOVED, [0, 1], 2, {"TPU_EMU_HOSTS_TIMEOUT": "12"}))):
        assert "moved" in text
        if me == 1:
            assert "f32[1] for device 2: after 12s process 0 of the slice had not sent it" in text


FOUND = """
jax.distributed.initialize()
print(jax.process_index(), jax.process_count(), jax.device_count(), jax.local_device_count())
print(multihost_utils.process_allgather(np.array([jax.process_index()])).ravel().tolist())
"""


@pytest.mark.parametrize("name", ["TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"])
def test_jax_finds_the_processes_by_the_variables_of_a_slice(name: str):
    free = f"127.0.0.1:{port()}"
    hosts = ["127.0.0.1", "127.0.0.2"]
    variables = {
        "JAX_FORCE_TPU_INIT": "1",
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_EMU_TOPOLOGY": "",
        "TPU_EMU_PROCESS_INDEX": "",
        "TPU_ACCELERATOR_TYPE": "v5litepod-8",
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "2,2,1",
        "TPU_PROCESS_BOUNDS": "1,2,1",
        "JAX_COORDINATOR_ADDRESS": free,
        "MEGASCALE_NUM_SLICES": "1",
        "MEGASCALE_SLICE_ID": "0",
        name: ",".join(hosts),
    }
    processes = [
        process
        for number in range(2)
        for process in start(FOUND, [number], 1, variables | {"TPU_WORKER_ID": str(number)})
    ]
    for number, text in enumerate(ended(processes)):
        assert text.splitlines() == [f"{number} 2 8 4", "[0, 1]"]


DIFFER = """
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("x")), lambda _: np.zeros(1))
def one(a): return a + 1
def two(a): return a - 1
try:
    jax.jit(one if me == 0 else two)(x).block_until_ready()
except Exception as error:
    print("refused", error)
print("sum", float(jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))(x)))
"""


def test_programs_that_differ_are_refused_in_all_processes_and_the_next_one_runs():
    for text in ended(start(DIFFER, [0, 1], 2)):
        wanted = "processes 0 and 1 launched jit_one and jit_two: all processes of a slice must"
        assert wanted in text
        assert "sum 0.0" in text


KILLED = """
import signal, time
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("x")), lambda _: np.zeros(1))
total = jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))
float(total(x))
if me == int(os.environ["KILLED"]):
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


def test_a_killed_process_leaves_no_file(tmp_path: pathlib.Path):
    processes = start(KILLED, [0, 1], 2, {"KILLED": "1", "TMPDIR": str(tmp_path)})
    for process in processes:
        process.communicate(timeout=120)
    assert list(tmp_path.iterdir()) == []
