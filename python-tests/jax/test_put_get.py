"""`jax.device_put` and `np.asarray`: what comes back is what went in, bit by bit."""

import itertools

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import jax

PLAIN = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SUB_BYTE = {"int1": 1, "uint1": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4}
# jax 0.10 has names for these two, and its jaxlib refuses them before any plugin is asked.
REFUSED_BY_JAXLIB = {"float6_e2m3fn", "float6_e3m2fn"}


def known_dtypes() -> list[np.dtype]:
    """Every type that NumPy, ml_dtypes and this version of JAX have a name for."""
    names = [name for name in dir(ml_dtypes) if isinstance(getattr(ml_dtypes, name), type)]
    small = [np.dtype(getattr(ml_dtypes, name)) for name in names if not name.endswith("info")]
    return [
        *map(np.dtype, PLAIN),
        *(
            dtype
            for dtype in small
            if hasattr(jnp, dtype.name) and dtype.name not in REFUSED_BY_JAXLIB
        ),
    ]


def every_pattern(dtype: np.dtype) -> np.ndarray:
    """All bit patterns of types up to 16 bits, else 4096 of them: NaNs with payloads too."""
    if dtype == np.bool_:
        return np.array([False, True, True])
    if dtype.name in SUB_BYTE:
        bits = SUB_BYTE[dtype.name]
        low = 0 if dtype.name.startswith("u") else -(1 << bits - 1)
        return np.arange(low, low + (1 << bits)).astype(dtype)
    if dtype.name.startswith("float4"):
        return np.arange(16, dtype=np.uint8).view(dtype)
    if dtype.itemsize <= 2:
        return np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    return np.frombuffer(np.random.default_rng(7).bytes(4096 * dtype.itemsize), dtype)


def assert_same_bits(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.fixture
def x64():
    """64-bit types stay what they are."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def test_there_are_types_of_every_width():
    names = {dtype.name for dtype in known_dtypes()}
    assert {"bool", "int4", "uint4", "int2", "float8_e4m3fn", "bfloat16", "complex128"} <= names


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", known_dtypes(), ids=str)
def test_every_bit_pattern_of_a_type_survives(dtype):
    values = every_pattern(dtype)
    assert_same_bits(np.asarray(jax.device_put(values)), values)
    odd = values[: len(values) // 3 * 3][::-1].reshape(3, -1).T
    assert_same_bits(np.asarray(jax.device_put(odd)), odd)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", known_dtypes(), ids=str)
def test_a_scalar_and_an_empty_array_of_a_type_survive(dtype):
    for values in (every_pattern(dtype)[1].reshape(()), np.zeros((0, 3), dtype)):
        assert_same_bits(np.asarray(jax.device_put(values)), values)


def test_the_payload_of_a_nan_survives():
    bits = np.array([0x7FC0_0001, 0xFFC1_2345, 0x7F80_0001, 0x8000_0000], np.uint32)
    got = np.asarray(jax.device_put(bits.view(np.float32)))
    assert got.view(np.uint32).tolist() == bits.tolist()


@pytest.mark.parametrize(
    "shape",
    [
        *((), (0,), (1,), (7,), (1024,), (8, 128), (8, 129), (3, 0, 2), (2, 3, 4)),
        *((5, 1, 7, 2), (2, 3, 1, 4, 5), (2, 1, 3, 2, 2, 3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int4"])
def test_every_shape_survives(shape, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    values = (np.arange(np.prod(shape, dtype=int)) % 7).astype(dtype).reshape(shape)
    device_array = jax.device_put(values)
    assert device_array.shape == shape
    assert_same_bits(np.asarray(device_array), values)


CUBE = np.arange(4 * 6 * 10, dtype=np.int32).reshape(4, 6, 10)
RECORDS = np.array([(1, 2), (3, 4), (5, 6)], [("a", np.int8), ("b", np.int16)])
VIEWS = {
    "every second": CUBE[::2, ::3, 1::2],
    "backwards": CUBE[::-1, :, ::-1],
    "backwards in steps": CUBE[:, ::-2, 8:1:-3],
    "broadcast": np.broadcast_to(np.arange(10, dtype=np.int32), (4, 6, 10)),
    "one value": np.broadcast_to(np.int32(5), (3, 2)),
    "Fortran order": np.asfortranarray(CUBE),
    "a diagonal": np.lib.stride_tricks.as_strided(CUBE, (4, 5), (60 * 4, 11 * 4)),
    "overlapping windows": np.lib.stride_tricks.sliding_window_view(CUBE, (2, 3), axis=(0, 1)),
    "a field of records": RECORDS["b"],
    **{f"transposed {axes}": CUBE.transpose(axes) for axes in itertools.permutations(range(3))},
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_every_kind_of_stride_survives(view):
    assert_same_bits(np.asarray(jax.device_put(view)), view.copy())


def test_eight_mebibytes_survive():
    values = np.random.default_rng(3).integers(0, 256, 8 << 20, np.uint8)
    assert_same_bits(np.asarray(jax.device_put(values)), values)
    matrix = values.view(np.float32).reshape(1024, 2048)
    assert_same_bits(np.asarray(jax.device_put(matrix.T)), matrix.T)


def test_a_change_of_the_source_after_the_put_does_not_reach_the_device():
    values = np.zeros(1 << 16, np.uint8)
    device_array = jax.block_until_ready(jax.device_put(values))
    values[:] = 1
    assert not np.asarray(device_array).any()


def test_python_scalars_become_32_bit_arrays():
    for value, dtype in [(1, "int32"), (1.5, "float32"), (True, "bool"), (1j, "complex64")]:
        device_array = jax.device_put(value)
        assert device_array.dtype == dtype
        assert device_array.item() == value


def test_a_tree_of_arrays_goes_and_comes_back():
    tree = {"w": np.ones((2, 3), np.float32), "b": [np.arange(3), np.float32(2)]}
    got = jax.device_get(jax.device_put(tree))
    assert got.keys() == tree.keys()
    assert np.array_equal(got["w"], np.ones((2, 3)))
    assert [leaf.tolist() for leaf in got["b"]] == [[0, 1, 2], 2.0]
