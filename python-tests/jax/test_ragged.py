"""`ragged_all_to_all` beside NumPy: slices whose lengths the data tells."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from test_collectives import UNCHECKED, shard_map

from emulator import JAXLIB

if JAXLIB < (0, 6):
    pytest.skip("JAX names no axis for it yet", allow_module_level=True)

P = PartitionSpec
COUNT, ROOM, WIDTH = 4, 12, 3


def mesh(order: list[int]) -> Mesh:
    return Mesh(np.array([jax.devices()[at] for at in order]), ("i",))


def exchange(order: list[int]) -> Any:
    def body(operand: Any, output: Any, *lists: Any) -> Any:
        return jax.lax.ragged_all_to_all(operand, output, *lists, axis_name="i")

    specs = (P("i"),) * 6
    code = shard_map(body, mesh=mesh(order), in_specs=specs, out_specs=P("i"), **UNCHECKED)
    return jax.jit(code)


def numbers(seed: int, each: int) -> tuple[np.ndarray, ...]:
    """Sizes by sender and slice, and the places in the senders' and receivers' arrays."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 3 if each == 1 else 2, (COUNT, COUNT, each))
    flat = sizes.reshape(COUNT, -1)
    starts = np.cumsum(flat, axis=1) - flat
    # A receiver has the slices of the senders one after the other.
    received = sizes.transpose(1, 0, 2).reshape(COUNT, -1)
    ends = np.cumsum(received, axis=1) - received
    places = ends.reshape(COUNT, COUNT, each).transpose(1, 0, 2).reshape(COUNT, -1)
    return flat, starts, places, received


def expected(operand: np.ndarray, output: np.ndarray, each: int, seed: int) -> np.ndarray:
    flat, starts, places, _ = numbers(seed, each)
    made = output.copy()
    for sender in range(COUNT):
        for at in range(COUNT * each):
            size, start, place = flat[sender, at], starts[sender, at], places[sender, at]
            made[at // each, place : place + size] = operand[sender, start : start + size]
    return made


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_slices_go_where_their_senders_say(each: int, dtype: str, order: list[int]) -> None:
    operand = np.arange(COUNT * ROOM * WIDTH).reshape(COUNT, ROOM, WIDTH) % 100
    output = np.full((COUNT, ROOM, WIDTH), 101)
    flat, starts, places, received = numbers(7, each)
    rows = [array.reshape(-1) for array in (starts, flat, places, received)]
    arrays = [jnp.asarray(array.reshape(COUNT * ROOM, WIDTH), dtype) for array in (operand, output)]
    made = exchange(order)(*arrays, *(jnp.asarray(row, "int32") for row in rows))
    wanted = expected(operand, output, each, 7).astype(jnp.dtype(dtype))
    np.testing.assert_array_equal(np.asarray(made).reshape(COUNT, ROOM, WIDTH), wanted)


def test_its_gradient_sends_the_rows_back() -> None:
    flat, starts, places, received = numbers(3, 1)
    rows = [jnp.asarray(a.reshape(-1), "int32") for a in (starts, flat, places, received)]
    weights = jnp.arange(float(COUNT * ROOM))
    code = exchange([0, 1, 2, 3])

    def loss(operand: Any) -> Any:
        return (code(operand, jnp.zeros(COUNT * ROOM), *rows) * weights).sum()

    found = np.asarray(jax.grad(loss)(jnp.ones(COUNT * ROOM))).reshape(COUNT, ROOM)
    wanted = np.zeros((COUNT, ROOM))
    for sender in range(COUNT):
        for receiver in range(COUNT):
            size, start = flat[sender, receiver], starts[sender, receiver]
            place = receiver * ROOM + places[sender, receiver]
            wanted[sender, start : start + size] = np.asarray(weights)[place : place + size]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (0, ROOM, "rows from row 12 of the 12 of its operand, from device 0 to device 0"),
        (0, -1, "rows from row -1 of the 12 of its operand"),
        (2, ROOM, "rows from row 12 of the 12 of its output"),
        (1, -1, "device 0 sends -1 rows to device 0, whose recv_sizes expect 1"),
        (3, 2, "device 0 sends 1 rows to device 0, whose recv_sizes expect 2"),
    ],
)
def test_numbers_that_do_not_fit_are_errors(at: int, value: int, words: str) -> None:
    rows = [np.tile(row, COUNT) for row in ([0, 1, 2, 3], [1] * 4, [0] * 4, [1] * 4)]
    rows[2] = np.repeat(np.arange(COUNT), COUNT)
    rows[at][0] = value
    arrays = [jnp.zeros((COUNT * ROOM, WIDTH)) for _ in range(2)]
    with pytest.raises(Exception, match=words):
        jax.block_until_ready(
            exchange([0, 1, 2, 3])(*arrays, *(jnp.asarray(row, "int32") for row in rows))
        )


def test_one_device_sends_to_itself() -> None:
    one = Mesh(np.array(jax.devices()[:1]), ("i",))

    def body(operand: Any, output: Any) -> Any:
        lists = [jnp.array([value], "int32") for value in (1, 2, 0, 2)]
        return jax.lax.ragged_all_to_all(operand, output, *lists, axis_name="i")

    code = shard_map(body, mesh=one, in_specs=(P("i"), P("i")), out_specs=P("i"), **UNCHECKED)
    made = jax.jit(code)(jnp.arange(4.0), jnp.zeros(3))
    assert made.tolist() == [1.0, 2.0, 0.0]
