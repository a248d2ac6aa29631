"""Programs that call Python: what the calls get, when they come, and how they fail.

JAX runs what is called on its CPU backend, so each program has one beside the emulated TPU.
"""

import textwrap

from emulator import output, run

BOTH = {"JAX_PLATFORMS": "tpu,cpu"}

BEGIN = """
import threading
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

assert jax.devices()[0].platform == "tpu"

def like(x):
    return jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x))

def pure(function, *operands):
    return jax.pure_callback(function, like(operands[0]), *operands)
"""


def printed(program: str) -> list[str]:
    """The lines that a program prints."""
    return output(BEGIN + textwrap.dedent(program), BOTH).splitlines()


def test_a_pure_callback_computes_on_the_host_wherever_it_stands():
    assert (
        printed("""
        sine = lambda x: pure(np.sin, x)
        x = jnp.arange(4.0)
        close = lambda got, wanted: print(np.allclose(got, wanted, rtol=1e-6))
        close(jax.jit(sine)(x), np.sin(x))
        close(jax.jit(lambda x: jax.jit(sine)(x) + jax.jit(sine)(x + 1))(x),
              np.sin(x) + np.sin(x + 1))
        mapped = lambda x: jax.pure_callback(np.sin, like(x), x, vmap_method="sequential")
        close(jax.vmap(mapped)(x), np.sin(x))
        close(jax.jit(lambda x: jax.lax.map(sine, x))(x), np.sin(x))
        step = lambda carry, x: (carry + sine(x), sine(carry))
        carry, ys = jax.lax.scan(step, jnp.float32(0), x)
        close(carry, np.sin(x).sum())
        branch = jax.jit(lambda p, x: jax.lax.cond(p, sine, lambda x: -x, x))
        close(branch(True, x), np.sin(x))
        close(branch(False, x), -x)
    """)
        == ["True"] * 7
    )


def test_the_condition_of_a_loop_may_be_a_callback():
    assert printed("""
        asked = []
        def below_five(x):
            asked.append(int(x))
            return np.bool_(x < 5)
        condition = lambda x: jax.pure_callback(below_five, jax.ShapeDtypeStruct((), bool), x)
        print(jax.jit(lambda x: jax.lax.while_loop(condition, lambda x: x + 2, x))(0))
        print(asked)
    """) == ["6", "[0, 2, 4, 6]"]


def test_types_and_shapes_arrive_as_they_were_sent():
    assert printed("""
        jax.config.update("jax_enable_x64", True)
        types = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                 "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
                 "float8_e4m3fn"]
        for name in types:
            dtype = jnp.dtype(name)
            x = np.asarray([[0, 1, 3], [5, 6, 7]]).astype(dtype)
            seen = []
            def same(x):
                seen.append(np.asarray(x))
                return np.asarray(x)
            y = jax.block_until_ready(jax.jit(lambda x: pure(same, x))(x))
            if seen[0].dtype != dtype or (seen[0] != x).any():
                print(name, "was sent as", seen[0])
            if y.dtype != dtype or (np.asarray(y) != x).any():
                print(name, "came back as", y)
        for narrow, values in (("int4", [-8, -1, 7]), ("uint4", [0, 9, 15])):
            def f(x):
                y = pure(same, x.astype(narrow))
                return y.astype(np.int32), (y + y).astype(np.int32)
            seen = []
            y, twice = jax.block_until_ready(jax.jit(f)(np.asarray(values, np.int32)))
            print(seen[0].dtype, seen[0].tolist(), y.tolist(), twice.tolist())
        for shape in [(), (1,), (0,), (3, 0), (2, 3, 4, 5)]:
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            y = jax.jit(lambda x: pure(lambda x: np.asarray(x) + 1, x))(x)
            assert y.shape == shape and (np.asarray(y) == x + 1).all(), (shape, y)
        big = np.arange(1 << 22, dtype=np.float32).reshape(1 << 11, 1 << 11)
        y = jax.jit(lambda x: pure(lambda x: np.asarray(x).T, x))(big)
        print((np.asarray(y) == big.T).all())
    """) == [
        "int4 [-8, -1, 7] [-8, -1, 7] [0, -2, -2]",
        "uint4 [0, 9, 15] [0, 9, 15] [0, 2, 14]",
        "True",
    ]


def test_several_operands_and_results_keep_their_order():
    assert printed("""
        def swap(a, b, *, scale):
            return np.asarray(b) * scale, {"a": np.asarray(a), "empty": np.zeros((0, 2), np.int32)}
        def f(a, b):
            results = (like(b), {"a": like(a), "empty": jax.ShapeDtypeStruct((0, 2), np.int32)})
            return jax.pure_callback(swap, results, a, b, scale=3)
        b, rest = jax.jit(f)(jnp.arange(3), jnp.array([[1.0], [2.0]]))
        print(b.tolist(), rest["a"].tolist(), rest["empty"].shape)
        nothing = lambda: jax.pure_callback(lambda: np.int32(7), jax.ShapeDtypeStruct((), np.int32))
        print(jax.jit(nothing)())
    """) == ["[[3.0], [6.0]] [0, 1, 2] (0, 2)", "7"]


def test_results_over_devices_stand_beside_the_tokens_of_ordered_callbacks():
    assert printed("""
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
        seen = []
        @jax.jit
        def doubled(x):
            io_callback(lambda x: seen.append(float(np.sum(x))), None, x, ordered=True)
            return x * 2
        x = jax.device_put(np.ones((2, 5)), NamedSharding(mesh, P("x")))
        y = doubled(x)
        jax.effects_barrier()
        print(y.sum(), seen, y.sharding.shard_shape(y.shape))
    """) == ["20.0 [10.0] (1, 5)"]


def test_ordered_callbacks_come_in_order_over_several_launches():
    assert printed("""
        seen = []
        note = lambda x: (seen.append(int(x)), np.float32(x))[1]
        @jax.jit
        def f(x):
            def body(i, c):
                io_callback(note, like(c), 10 * x + i, ordered=True)
                return c
            return jax.lax.fori_loop(0, 3, body, jnp.float32(0))
        for x in range(20):
            f(x)
        jax.effects_barrier()
        print(seen == [10 * x + i for x in range(20) for i in range(3)])
        told = []
        g = jax.jit(lambda x: io_callback(lambda x: told.append(int(x)), None, x, ordered=False))
        for x in range(20):
            g(x)
        jax.effects_barrier()
        print(told == list(range(20)))
    """) == ["True", "True"]


def test_debug_prints_come_out_of_every_construct():
    lines = printed("""
        @jax.jit
        def f(x):
            jax.debug.print("start {}", x)
            def body(i, x):
                jax.debug.print("loop {i} {x}", i=i, x=x, ordered=True)
                return jax.lax.cond(x > 2, grow, lambda x: x + 1, x)
            def grow(x):
                jax.debug.print("more than {}", 2, ordered=True)
                return x * 2
            return jax.lax.fori_loop(0, 3, body, x)
        print(f(1))
        jax.vmap(lambda x: jax.debug.print("lane {}", x))(jnp.arange(3))
        jax.debug.callback(lambda x: print("called", x), jnp.int32(5))
    """)
    # What is printed by the program may be earlier or later than what it gives.
    assert [line for line in lines if line.startswith(("loop", "more"))] == [
        *("loop 0 1", "loop 1 2", "loop 2 3", "more than 2"),
    ]
    assert sorted(line for line in lines if not line.startswith(("loop", "more"))) == sorted(
        ["6", "start 1", "lane 0", "lane 1", "lane 2", "called 5"]
    )


def test_checkify_tells_what_went_wrong():
    assert printed("""
        from jax.experimental import checkify
        def f(x, i):
            checkify.check(i < 10, "i is {i}", i=i)
            return jnp.log(x)[i]
        checked = checkify.checkify(f, errors=checkify.user_checks | checkify.index_checks)
        error, y = jax.jit(checked)(jnp.arange(4.0), 1)
        print(error.get(), float(y))
        error, _ = jax.jit(checked)(jnp.arange(4.0), 12)
        print(error.get().partition(" (")[0])
        try:
            error.throw()
        except Exception as error:
            print("i is 12" in str(error))
    """) == ["None 0.0", "i is 12", "True"]


def test_an_exception_ends_the_run_and_nothing_else():
    lines = printed("""
        calls = []
        def fails(x):
            calls.append("first")
            if x > 0:
                raise ValueError("x is too large")
            return np.asarray(x)
        def f(x):
            y = pure(fails, x)
            return y, io_callback(lambda y: (calls.append("second"), np.asarray(y))[1], like(y), y)
        f = jax.jit(f)
        for x in (1.0, 0.0):
            try:
                print(jax.block_until_ready(f(x))[1], calls)
            except Exception as error:
                print(type(error).__name__, "ValueError: x is too large" in str(error), calls)
            calls.clear()
        print(jnp.ones(3).sum())
    """)
    assert [line.partition(" ")[2] for line in lines[:2]] == [
        *("True ['first']", "['first', 'second']"),
    ]
    assert lines[2] == "3.0"


def test_a_wrong_result_is_an_error_of_jax():
    assert printed("""
        for wrong in (np.zeros(3, np.float32), np.zeros(2, np.int32)):
            try:
                jax.block_until_ready(jax.jit(lambda x: pure(lambda x: wrong, x))(jnp.ones(2)))
            except Exception as error:
                print("shape" in str(error) or "dtype" in str(error))
    """) == ["True", "True"]


def test_a_callback_may_use_jax_on_both_devices():
    assert printed("""
        cpu, tpu = jax.devices("cpu")[0], jax.devices("tpu")[0]
        inner = jax.jit(lambda x: pure(lambda x: np.asarray(x) * 10, x))
        def outer(x):
            with jax.default_device(cpu):
                on_cpu = jnp.sin(jnp.asarray(np.asarray(x))).block_until_ready()
            with jax.default_device(tpu):
                y = jax.device_put(np.asarray(x), tpu)
                plain = jax.jit(lambda y: y + 1)(y)
                # A program with a callback of its own, from inside of one.
                nested = inner(y)
            return np.asarray(plain) + np.asarray(nested) + 0 * np.asarray(on_cpu)
        f = jax.jit(lambda x: pure(outer, x))
        x = jnp.arange(3.0)
        runs = [f(x + i) for i in range(4)]
        print([run.tolist() for run in runs][3])
    """) == ["[34.0, 45.0, 56.0]"]


def test_a_callback_may_wait_for_what_its_launcher_does_next():
    # XLA's CPU client makes the calls inside of the launch, and this program has no end there.
    assert printed("""
        launched = threading.Event()
        def wait(x):
            print(launched.wait(30))
            return np.asarray(x) + 1
        y = jax.jit(lambda x: pure(wait, x))(jnp.float32(1))
        launched.set()
        print(float(y))
    """) == ["True", "2.0"]


def test_threads_of_a_program_may_all_call_back():
    assert printed("""
        f = jax.jit(lambda x: pure(lambda x: np.asarray(x) * 2, x))
        def work(n):
            for i in range(25):
                assert float(f(jnp.float32(n * i))) == 2 * n * i
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print("done")
    """) == ["done"]


def test_donated_and_failed_arguments_meet_callbacks():
    assert printed("""
        f = jax.jit(lambda x: pure(lambda x: np.asarray(x) + 1, x), donate_argnums=0)
        x = jnp.arange(3.0)
        y = f(f(f(x)))
        print(x.is_deleted(), y.tolist())
        def fails(x):
            raise ValueError("no")
        bad = jax.jit(lambda x: pure(fails, x))(y)
        try:
            f(bad).block_until_ready()
        except Exception as error:
            print("ValueError: no" in str(error))
    """) == ["True [3.0, 4.0, 5.0]", "True"]


def test_the_interpreter_waits_for_callbacks_at_its_end():
    lines = printed("""
        import time
        def slow(x):
            time.sleep(0.05)
            print("called", flush=True)
            return np.asarray(x)
        f = jax.jit(lambda x: pure(slow, x))
        x = jnp.float32(1)
        for _ in range(10):
            x = f(x)
        jax.jit(lambda x: jax.debug.print("printed {}", x))(1)
    """)
    assert lines.count("called") == 10
    assert "printed 1" in lines


def test_without_a_cpu_backend_jax_says_what_is_missing():
    done = run(
        BEGIN + "print(jax.jit(lambda x: pure(np.sin, x))(jnp.ones(2)))", {"JAX_PLATFORMS": "tpu"}
    )
    assert done.returncode == 1
    assert "failed to find a local CPU device" in done.stderr
    assert "JAX_PLATFORMS" in done.stderr
