"""`jax.lax.rng_uniform`, whose numbers come from the launch and not from a key."""

import jax
import numpy as np

from emulator import output


def draw(count=8):
    return jax.lax.rng_uniform(np.float32(0), np.float32(1), (count,))


def test_every_launch_draws_other_numbers():
    step = jax.jit(draw)
    drawn = [tuple(np.asarray(step()).tolist()) for _ in range(5)]
    drawn.append(tuple(np.asarray(jax.jit(lambda: draw() * 1)()).tolist()))
    assert len(set(drawn)) == 6
    assert all(0 <= number < 1 for numbers in drawn for number in numbers)


def test_every_draw_and_every_round_of_a_launch_has_other_numbers():
    first, second = jax.jit(lambda: (draw(), draw()))()
    assert np.asarray(first).tolist() != np.asarray(second).tolist()
    rounds = jax.jit(lambda: jax.lax.scan(lambda carry, _: (carry, draw()), 0, length=6)[1])()
    assert len({tuple(row) for row in np.asarray(rounds).tolist()}) == 6


def test_every_device_draws_other_numbers():
    rows = jax.pmap(lambda x: x + draw())(np.zeros((8, 1), np.float32))
    assert len({tuple(row) for row in np.asarray(rows).tolist()}) == 8


def test_processes_that_launch_the_same_draw_the_same():
    program = """
    import jax, numpy as np
    step = jax.jit(lambda: jax.lax.rng_uniform(np.float32(0), np.float32(1), (70_000,)))
    print([float(np.asarray(step()).sum()) for _ in range(3)])
    """
    told = {output(program, {"TPU_EMU_THREADS": str(threads)}) for threads in (1, 2, 8)}
    assert len(told) == 1
