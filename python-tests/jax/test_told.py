"""What is told of compiled programs is read by jaxlib's own readers.

What these do not take ends a client's process, by a failed check of XLA's.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from pjrt import Client

from emulator import LIBRARY

# The readers moved.
READERS: Any = getattr(xla_client, "hlo", None) or xla_client._xla


def line(*axes):
    mesh = Mesh(np.array(jax.devices()), ("x",))
    return NamedSharding(mesh, PartitionSpec(*axes))


def one(function, *arguments, **options):
    return jax.jit(function, **options).lower(*arguments).compile()


def array(shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def split(function, *arguments, specs, outs):
    ins, outs = tuple(line(*spec) for spec in specs), outs and tuple(line(*spec) for spec in outs)
    options = {"out_shardings": outs} if outs else {}
    return one(function, *arguments, in_shardings=ins, **options)


X = array((8, 16))

# By name: how it is compiled, its parameters and its results. A program that came as MLIR is told
# whole, with its shardings. What pmap compiles is for each version of JAX to say.
PROGRAMS: dict[str, tuple[Any, Any, Any]] = {
    "plain": (lambda: one(lambda x: x @ x.T + 1, X), [X], [array((8, 8))]),
    "without parameters": (lambda: one(lambda: jnp.arange(6.0)), [], [array((6,))]),
    "without results": (lambda: one(lambda x: (), X, keep_unused=True), [X], []),
    "several results": (
        lambda: one(lambda x, y: (x.sum(), {"b": (y, x.T)}), X, array((), jnp.int32)),
        [X, array((), jnp.int32)],
        [array(()), array((), jnp.int32), array((16, 8))],
    ),
    "no elements": (lambda: one(lambda x: x + 1, array((0, 3))), [array((0, 3))], [array((0, 3))]),
    "types": (
        lambda: one(
            lambda a, b, c, d: (~a, b * 2, c * 1j, d.view(jnp.uint8)),
            array((3,), jnp.bool_),
            array((2, 5), jnp.bfloat16),
            array((4,), jnp.complex64),
            array((7,), jnp.int8),
        ),
        [
            array((3,), jnp.bool_),
            array((2, 5), jnp.bfloat16),
            array((4,), jnp.complex64),
            array((7,), jnp.int8),
        ],
        [
            array((3,), jnp.bool_),
            array((2, 5), jnp.bfloat16),
            array((4,), jnp.complex64),
            array((7,), jnp.uint8),
        ],
    ),
    "donated": (
        lambda: one(lambda x, y: (x + y, y.sum()), X, X, donate_argnums=0),
        [X, X],
        [X, array(())],
    ),
    "loop and branch": (
        lambda: one(
            lambda x: jax.lax.fori_loop(
                0, 3, lambda _, v: jax.lax.cond(v[0] > 0, jnp.sin, jnp.cos, v), x
            ),
            array((5,)),
        ),
        [array((5,))],
        [array((5,))],
    ),
    "split": (
        lambda: split(lambda x, y: x @ y, X, array((16, 4)), specs=[("x",), ()], outs=None),
        [X, array((16, 4))],
        [array((8, 4))],
    ),
    "split and gathered": (
        lambda: split(lambda x: (x.T, x.sum()), X, specs=[(None, "x")], outs=[(None, "x"), ()]),
        [X],
        [array((16, 8)), array(())],
    ),
    "split and without results": (
        lambda: one(lambda x: (), X, in_shardings=line("x"), keep_unused=True),
        [X],
        [],
    ),
    "pmap": (
        lambda: jax.pmap(lambda x: jax.lax.psum(x, "i"), "i").lower(array((8, 3))).compile(),
        None,
        None,
    ),
}


@functools.cache
def compiled(name):
    return PROGRAMS[name][0]().runtime_executable()


def module_of(name):
    [module] = compiled(name).hlo_modules()
    return module


def shapes(program):
    """The arrays of a program's parameters and of its result, from the left."""
    result = program.result_shape()
    results = result.tuple_shapes() if result.is_tuple() else [result]
    return program.parameter_shapes(), results


def described(shape):
    return shape.dimensions(), np.dtype(shape.numpy_dtype())


def computation(module):
    return READERS.XlaComputation(module.as_serialized_hlo_module_proto())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_has_the_shapes_of_the_program(name):
    module = module_of(name)
    assert module.name
    parameters, results = shapes(computation(module).program_shape())
    _, wanted_in, wanted_out = PROGRAMS[name]
    if wanted_in is None:
        return
    # A program over several devices is told as that of one of them.
    sides = SPLIT.get(name) or [[one.shape for one in side] for side in (wanted_in, wanted_out)]
    for found, wanted, dims in zip(
        (parameters, results), (wanted_in, wanted_out), sides, strict=True
    ):
        expected = [(of, one.dtype) for of, one in zip(dims, wanted, strict=True)]
        assert [described(one) for one in found] == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_is_read_back_from_its_proto_and_from_its_text(name):
    module = module_of(name)
    again = READERS.HloModule.from_serialized_hlo_module_proto(
        module.as_serialized_hlo_module_proto()
    )
    parsed = READERS.hlo_module_from_text(module.to_string())
    wanted = repr(computation(module).program_shape())
    for other in (again, parsed):
        assert other.name == module.name
        assert repr(computation(other).program_shape()) == wanted
    assert [one.name for one in again.computations()] == [one.name for one in module.computations()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_work_of_a_program_is_counted(name):
    counted = compiled(name).cost_analysis()
    counted = counted[0] if isinstance(counted, list) else counted
    assert all(isinstance(value, float) and value >= 0 for value in counted.values())
    if name == "plain":
        assert counted["flops"] == 2 * 8 * 8 * 16 + 8 * 8


def proto(sharding):
    """An `OpSharding` as XLA understands it."""
    return READERS.HloSharding.from_proto(sharding)


def parts(sharding, shape):
    """The shape of one device's part."""
    understood = proto(sharding)
    if understood.is_replicated():
        return shape
    tiles = understood.tile_assignment_dimensions()
    return tuple(size // tile for size, tile in zip(shape, tiles, strict=False))


# What each device has.
SPLIT: dict[str, tuple[list, list]] = {
    "split": ([(1, 16), (16, 4)], [(1, 4)]),
    "split and gathered": ([(8, 2)], [(16, 1), ()]),
    "split and without results": ([(1, 16)], []),
}


@pytest.mark.parametrize("name", SPLIT)
def test_shardings_are_understood_and_are_those_of_the_parts(name):
    executable, (_, *wholes) = compiled(name), PROGRAMS[name]
    told = (executable.get_parameter_shardings(), executable.get_output_shardings())
    for shardings, whole, wanted in zip(told, wholes, SPLIT[name], strict=True):
        # XLA counts one array in a tuple of none; later versions tell nothing of it.
        assert len(shardings or []) in {len(whole), max(len(whole), 1)}
        found = [parts(one, of.shape) for one, of in zip(shardings or [], whole, strict=False)]
        assert found == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts_and_kinds_of_memory_are_one_for_each_array(name):
    executable = compiled(name)
    parameters, results = shapes(computation(module_of(name)).program_shape())
    assert len(executable.get_parameter_layouts()) == len(parameters)
    assert len(executable.get_output_layouts()) == len(results)
    assert [str(one)[:1] for one in executable.get_output_layouts()] == ["{"] * len(results)
    [kinds] = executable.get_output_memory_kinds()
    assert kinds == ["device"] * len(results)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_enough_for_parameters_and_results(name):
    stats = compiled(name).get_compiled_memory_stats()
    parameters, results = shapes(computation(module_of(name)).program_shape())

    def size(shapes):
        return sum(
            np.prod(dims, dtype=np.int64) * dtype.itemsize for dims, dtype in map(described, shapes)
        )

    assert stats.argument_size_in_bytes >= size(parameters)
    assert stats.output_size_in_bytes >= size(results)
    assert stats.output_size_in_bytes >= stats.alias_size_in_bytes
    assert (stats.alias_size_in_bytes > 0) == (name == "donated")
    assert stats.temp_size_in_bytes >= 0
    assert stats.host_argument_size_in_bytes == stats.host_output_size_in_bytes == 0
    assert compiled(name).size_of_generated_code_in_bytes() >= 0


def test_fingerprints_tell_programs_apart():
    prints = {name: compiled(name).fingerprint for name in PROGRAMS}
    assert all(isinstance(one, bytes) and one for one in prints.values())
    assert len(set(prints.values())) == len(prints)
    # From one line: a program has the lines that it comes from.
    again = [PROGRAMS["plain"][0]().runtime_executable().fingerprint for _ in range(2)]
    assert again[0] == again[1]


def test_each_result_that_lies_in_a_parameter_is_told():
    text = module_of("donated").to_string()
    assert "input_output_alias" in text or "tf.aliasing_output" in text or "may-alias" in text


def test_a_split_program_without_results_runs():
    """XLA refused it where the sharding of its empty tuple was that of no array."""
    assert jax.jit(lambda x: (), in_shardings=line("x"), keep_unused=True)(np.ones((8, 2))) == ()


def field(message, wanted):
    """The bytes of a field of a protobuf message, which come in parts where it is a message."""
    at, found = 0, b""

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        assert key & 7 in {0, 2}, key
        size = number()
        if key & 7 == 2:
            found += message[at : at + size] if key >> 3 == wanted else b""
            at += size
    return found


@functools.cache
def told_as_hlo(name):
    """What is told of a program that came as HLO: its module as jaxlib reads it, and the config."""
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    if name in SPLIT:
        options.num_partitions = build.num_partitions = 8
        build.use_spmd_partitioning = True
        devices = np.arange(8).reshape(1, 8)
        build.device_assignment = xla_client.DeviceAssignment.create(devices)
    code = SENT[name]().compiler_ir("hlo").as_serialized_hlo_module_proto()
    form, message = Client(LIBRARY).told(code, b"hlo", options.SerializeAsString())
    assert form == b"hlo_with_config"
    return READERS.HloModule.from_serialized_hlo_module_proto(field(message, 1)), field(message, 2)


SENT: dict[str, Any] = {
    "plain": lambda: jax.jit(lambda x: x @ x.T + 1).lower(X),
    "several results": lambda: jax.jit(lambda x, y: (x.sum(), y)).lower(X, array((), jnp.int32)),
    "without results": lambda: jax.jit(lambda x: (), keep_unused=True).lower(X),
    "split": lambda: jax.jit(
        lambda x, y: x @ y,
        in_shardings=(line("x"), line()),
        out_shardings=line("x"),
    ).lower(X, array((16, 4))),
}


@pytest.mark.parametrize("name", SENT)
def test_what_is_told_of_hlo_has_the_layout_that_xla_demands(name):
    """XLA ends the process where the entry's layout in the config is not that of the module."""
    module, config = told_as_hlo(name)
    parameters, results = shapes(computation(module).program_shape())
    _, wanted_in, wanted_out = PROGRAMS[name]
    if name in SPLIT:
        wanted_in, wanted_out = ([array(one) for one in all_] for all_ in SPLIT[name])
    if name == "several results":
        wanted_out = wanted_out[:2]
    for found, wanted in ((parameters, wanted_in), (results, wanted_out)):
        assert [described(one) for one in found] == [(one.shape, one.dtype) for one in wanted]
    # The layout of the entry is a ProgramShapeProto, of which field 1 has the parameters and
    # field 2 the result; field 3 of a shape has its extents, field 4 the shapes of a tuple.
    layout = field(config, 1)
    assert layout
    stated = b"".join(one.to_serialized_proto() for one in parameters)
    assert field(field(layout, 1), 3) == field(stated, 3)
    whole = computation(module).program_shape().result_shape().to_serialized_proto()
    result = field(layout, 2)
    assert field(result, 3) == field(whole, 3)
    assert field(field(result, 4), 3) == field(field(whole, 4), 3)


def test_shardings_of_hlo_are_in_the_module():
    module, _ = told_as_hlo("split")
    ins, out = module.spmd_parameters_shardings, module.spmd_output_sharding
    found = [parts(one, whole) for one, whole in zip(ins, [(8, 16), (16, 4)], strict=True)]
    assert found == [(1, 16), (16, 4)]
    assert parts(out, (8, 4)) == (1, 4)
