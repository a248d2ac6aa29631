"""Several processes are the hosts of one slice."""

import pathlib

import numpy as np
import pytest

import handlers
import tpu_emu
from emulator import JAXLIB
from hosts import TRANSFORMER, ended, port, start

# Older ones give a TPU no store through which processes could meet.
pytestmark = pytest.mark.skipif(JAXLIB < (0, 8), reason="JAX gives no store of keys and values")

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


def test_jax_alone_says_which_host_a_process_is():
    unset = {"TPU_EMU_PROCESS_INDEX": ""}
    [alone] = ended(start(STEP, [0], 1, {"TPU_EMU_TOPOLOGY": "v5e:2x2"} | unset))
    assert ended(start(STEP, [0, 1], 2, unset)) == [alone, alone]
    listed = "print(jax.process_index(), jax.process_count(), len(jax.local_devices()))"
    said = ended(start(listed, [0, 1], 2, unset | {"TPU_EMU_TOPOLOGY": ""}))
    assert [text.split() for text in said] == [["0", "2", "4"], ["1", "2", "4"]]


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


CALLED = """
import ctypes
mesh = Mesh(np.array(jax.devices()), ("x",))
split = NamedSharding(mesh, P("x"))
library = ctypes.CDLL(os.environ["HANDLERS"])
def register(name, symbol, **options):
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(symbol), platform="tpu", **options)

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
def mine(result, operands):
    at = lambda address: ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
    at(result)[0] = at(operands[0])[0] + 100 * me

register("mine", mine, api_version=0)
for name in ("alias_increment", "scratch_reverse", "future_negate", "copy_any", "always_error",
             "do_custom_call"):
    register(name, getattr(library, name))

def local(x):
    return [np.asarray(one.data).tolist() for one in x.addressable_shards]

def each(name, results, spec=P("x"), **options):
    attributes = options.pop("attributes", {})
    call = jax.ffi.ffi_call(name, results, **options)
    return jax.jit(jax.shard_map(lambda *a: call(*a, **attributes), mesh=mesh, in_specs=spec,
                                 out_specs=P("x"), check_vma=False))

def of(*form):
    return jax.ShapeDtypeStruct(form, np.float32)

x = jax.make_array_from_callback(
    (12,), split, lambda index: np.arange(12, dtype=np.float32)[index])
print("mine", [one[0] for one in local(each("mine", of(3), custom_call_api_version=1)(x))])
whole = NamedSharding(mesh, P())
own = [jax.device_put(np.full(1, 10 + one.id, np.float32), one) for one in jax.local_devices()]
copies = jax.make_array_from_single_device_arrays((1,), whole, own)
print("copies", local(each("mine", of(1), P(), custom_call_api_version=1)(copies)))
increment = jax.jit(jax.shard_map(
    lambda a: (lambda y, same: y + 100 * same)(*jax.ffi.ffi_call(
        "alias_increment", (of(3), jax.ShapeDtypeStruct((), np.int32)),
        input_output_aliases={0: 0})(a)),
    mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
print("increment", local(increment(x)))
print("reverse", local(each("scratch_reverse", of(3), attributes={"bytes": np.int64(64)})(x)))
print("negate", local(each("future_negate", of(3))(x)))
none = jax.make_array_from_callback((0,), split, lambda index: np.zeros(0, np.float32))
print("none", local(each("copy_any", of(0))(none)))
print("two", local(each("do_custom_call", of(3))(x, x)))
for _ in range(2):
    try:
        jax.block_until_ready(each("always_error", of(3))(x))
    except Exception as error:
        print("refused", error)
multihost_utils.sync_global_devices("done")
"""


def test_handlers_run_in_the_process_of_their_device(tmp_path: pathlib.Path):
    variables = {"HANDLERS": str(handlers.path()), "TPU_EMU_TRACE": str(tmp_path / "trace")}
    parts = np.arange(12, dtype=np.float32).reshape(4, 3)
    for me, text in enumerate(ended(start(CALLED, [0, 1], 2, variables))):
        own = parts[2 * me : 2 * me + 2]
        assert f"mine {[float(one[0]) + 100 * me for one in own]}" in text
        assert f"copies {[[100.0 * me + 10 + one] for one in (me, me + 2)]}" in text
        assert f"increment {(own + 101).tolist()}" in text
        assert f"reverse {own[:, ::-1].tolist()}" in text
        assert f"negate {(-own).tolist()}" in text
        assert "none [[], []]" in text
        assert f"two {(2 * own).tolist()}" in text
        assert text.count("this handler always fails") == 2
    calls = [
        {
            one.device
            for one in tpu_emu.read(file).dispatches
            if (one.target, one.stage) == ("scratch_reverse", tpu_emu.Stage.EXECUTE)
        }
        for file in tmp_path.iterdir()
    ]
    assert sorted(calls, key=min) == [{0, 1}, {2, 3}]
