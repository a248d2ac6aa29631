"""Checks of what lies between a device and its host: calls out, files, caches, errors, traces."""

import contextlib
import ctypes
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback, serialize_executable
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpu_emu
from against_cpu import Check, close, raised, values

CHECKS: list[Check] = []

HANDLER = """
    #include "xla/ffi/api/ffi.h"
    namespace ffi = xla::ffi;

    ffi::Error Scaled(float factor, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
      if (factor == 0) return ffi::Error::InvalidArgument("a factor of nothing");
      for (size_t i = 0; i < x.element_count(); ++i)
        y->typed_data()[i] = factor * x.typed_data()[i];
      return ffi::Error::Success();
    }
    XLA_FFI_DEFINE_HANDLER_SYMBOL(scaled, Scaled, ffi::Ffi::Bind()
        .Attr<float>("factor").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""


def _check(check: Check) -> Check:
    CHECKS.append(check)
    return check


@_check
def a_handler_compiled_against_the_headers_of_the_wheel():
    found = next(
        (found for name in ("g++", "clang++", "c++") if (found := shutil.which(name))), None
    )
    compiler = [found] if found else [sys.executable, "-m", "ziglang", "c++"]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "scaled.cc"), Path(folder, "scaled.so")
        source.write_text(textwrap.dedent(HANDLER))
        flags = ["-std=c++17", "-w", "-shared", "-fPIC", "-I", jax.ffi.include_dir()]
        subprocess.run([*compiler, *flags, "-o", str(library), str(source)], check=True)
        handler = ctypes.CDLL(str(library)).scaled
    jax.ffi.register_ffi_target("scaled", jax.ffi.pycapsule(handler), platform="tpu")

    def scaled(x, factor):
        call = jax.ffi.ffi_call(
            "scaled", jax.ShapeDtypeStruct(x.shape, x.dtype), vmap_method="broadcast_all"
        )
        return call(x, factor=np.float32(factor))

    x = values(3, 4)
    close(jax.jit(lambda x: scaled(x, 3.0) + 1)(x), 3 * x + 1)
    close(jax.vmap(lambda x: scaled(x, 2.0))(x), 2 * x)
    split = jax.shard_map(
        lambda x: scaled(x, 5.0),
        mesh=Mesh(np.array(jax.devices()), ("x",)),
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    close(jax.jit(split)(values(8, 2)), 5 * values(8, 2))
    assert "a factor of nothing" in raised(jax.jit(lambda x: scaled(x, 0.0)), x)


@_check
def callbacks_with_results():
    def sine(x):
        return np.sin(x)

    def called(x):
        return jax.pure_callback(
            sine, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
        )

    x = values(4, 3)
    close(jax.jit(lambda x: called(x) * 2)(x), 2 * np.sin(x))
    close(jax.vmap(called)(x), np.sin(x))
    close(jax.lax.map(called, x), np.sin(x))


@_check
def callbacks_in_order():
    seen = []

    def note(i):
        seen.append(int(i))
        return np.int32(len(seen))

    @jax.jit
    def loop(n):
        def body(i, total):
            return total + io_callback(note, jax.ShapeDtypeStruct((), np.int32), i, ordered=True)

        return jax.lax.fori_loop(0, n, body, np.int32(0))

    assert loop(10) == 55
    jax.effects_barrier()
    assert seen == list(range(10))


@_check
def prints_out_of_programs():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        jax.jit(lambda x: jax.debug.print("x = {}", x, ordered=True))(np.int32(7))
        jax.vmap(lambda x: jax.debug.print("row {}", x))(np.arange(3))
        jax.effects_barrier()
    assert sorted(printed.getvalue().split("\n")) == ["", "row 0", "row 1", "row 2", "x = 7"]


@_check
def an_exception_in_a_callback_is_the_programs():
    def broken(_):
        raise ValueError("the callback's own words")

    program = jax.jit(lambda x: jax.pure_callback(broken, jax.ShapeDtypeStruct((), np.float32), x))
    assert "the callback's own words" in raised(program, np.float32(1))
    assert jnp.sum(jnp.ones(3)) == 3


@_check
def exported_programs():
    rows = jax.export.symbolic_shape("rows, 4")
    spec = jax.ShapeDtypeStruct(rows, np.float32)
    exported = jax.export.export(jax.jit(lambda x: jnp.sin(x).sum(1)), platforms=["tpu", "cpu"])(
        spec
    )
    again = jax.export.deserialize(exported.serialize())
    for count in (1, 7):
        close(jax.jit(again.call)(values(count, 4)), np.sin(values(count, 4)).sum(1))
    plain = jax.export.export(jax.jit(lambda x: x**3))(jax.ShapeDtypeStruct((3,), np.float32))
    copy = jax.export.deserialize(plain.serialize(vjp_order=1))
    close(jax.grad(lambda x: copy.call(x).sum())(values(3)), 3 * values(3) ** 2)


@_check
def serialized_executables():
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P("x"))
    divided = jax.device_put(values(8, 3), sharding)
    for x, devices in ((values(8, 3), jax.devices()[:1]), (divided, jax.devices())):
        compiled = jax.jit(lambda x: {"y": jnp.cumsum(x, 0)}).lower(x).compile()
        data, arguments, results = serialize_executable.serialize(compiled)
        loaded = serialize_executable.deserialize_and_load(
            data, arguments, results, execution_devices=devices
        )
        close(loaded(x)["y"], np.cumsum(values(8, 3), 0))


@_check
def what_a_compiled_program_tells():
    lowered = jax.jit(lambda x: x @ x).lower(values(64, 64))
    compiled: Any = lowered.compile()
    assert "stablehlo.dot_general" in lowered.as_text()
    assert compiled.as_text().startswith("HloModule")
    assert compiled.cost_analysis()["flops"] >= 64**3
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 64 * 128 * 4


@_check
def the_cache_of_compiled_programs():
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    kept = [getattr(jax.config, name) for name in names]
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, value in zip(names, (folder, 0.0), strict=True):
                jax.config.update(name, value)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
            for _ in range(2):
                jax.clear_caches()
                close(jax.jit(lambda x: x * 17 - 4)(values(9)), values(9) * 17 - 4)
                files = [path for path in Path(folder).iterdir() if path.name.endswith("-cache")]
                assert files
        finally:
            for name, value in zip(names, kept, strict=True):
                jax.config.update(name, value)
            jax.experimental.compilation_cache.compilation_cache.reset_cache()


@_check
def checks_out_of_programs():
    @jax.jit
    @checkify.checkify
    def root(x):
        checkify.check(x >= 0, "{x} has no root", x=x)
        return jnp.sqrt(x)

    error, result = root(np.float32(4))
    error.throw()
    assert result == 2
    assert "has no root" in root(np.float32(-4))[0].get()
    nans = checkify.checkify(jnp.log, errors=checkify.nan_checks)
    assert "nan generated" in jax.jit(nans)(np.float32(-1))[0].get()


@_check
def nans_that_are_looked_for():
    with jax.debug_nans(True):
        assert "invalid value (nan)" in raised(jax.jit(jnp.log), np.float32(-1))


@_check
def profiles():
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder), jax.profiler.TraceAnnotation("a step"):
            jax.block_until_ready(jnp.ones((50, 50)) @ jnp.ones((50, 50)))
        assert list(Path(folder).rglob("*.xplane.pb"))
        jax.profiler.save_device_memory_profile(str(Path(folder, "memory")))
        assert Path(folder, "memory").stat().st_size


@_check
def arrays_as_python_and_other_libraries_take_them():
    x = jax.device_put(values(5, 3))
    assert np.array_equal(pickle.loads(pickle.dumps(x)), values(5, 3))
    assert np.array_equal(np.asarray(x, np.float64), values(5, 3).astype(np.float64))
    assert [row.shape for row in x] == [(3,)] * 5
    assert float(x[0, 0]) == values(5, 3)[0, 0]
    assert any(array is x for array in jax.live_arrays())


@_check
def errors_name_what_is_wrong():
    missing = jax.jit(lambda x: jax.ffi.ffi_call("no_such_target", x)(x))
    message = raised(missing, values(2))
    assert "no_such_target" in message
    assert Path(__file__).name in message, message
    assert "dot_general" in raised(jnp.matmul, values(2, 3), values(2, 3))
    deleted = jax.device_put(values(2))
    deleted.delete()
    assert "deleted" in raised(lambda: deleted + 1)


@_check
def threads_that_launch_at_once():
    program = jax.jit(lambda x, i: jnp.sum(jnp.sin(x * i)))
    x, results = values(500), {}

    def launch(i):
        for _ in range(20):
            results[i] = float(program(jax.device_put(x, jax.devices()[i]), np.float32(i)))

    threads = [threading.Thread(target=launch, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        close(results[i], np.sin(x * np.float32(i)).sum(), rtol=1e-3)


@_check
def who_holds_the_memory():
    def keep_a_megabyte():
        return jax.block_until_ready(jax.device_put(np.ones((512, 512), np.float32)))

    kept = keep_a_megabyte()
    live = [change for change in tpu_emu.snapshot().live if change.size == kept.nbytes]
    assert any("keep_a_megabyte" in frame.function for change in live for frame in change.stack)


@_check
def a_trace_with_the_users_lines():
    program = """
        import jax, numpy as np

        def grow(x):
            return jax.block_until_ready(jax.jit(lambda x: x + 1)(x))

        grow(grow(np.zeros((256, 256), np.float32)))
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace")
        command = [sys.executable, "-c", textwrap.dedent(program)]
        subprocess.run(command, env={**os.environ, "TPU_EMU_TRACE": str(path)}, check=True)
        trace = tpu_emu.read(path)
    assert trace.complete
    grown = [change for change in trace.changes if any(f.function == "grow" for f in change.stack)]
    assert len(grown) >= 2
