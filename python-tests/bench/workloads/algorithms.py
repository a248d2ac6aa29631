"""Algorithms of simulation, search and estimation."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.workload import Arrays, Tree, Workload


def neighbours(queries: jax.Array, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The eight nearest points."""
    distance = (queries**2).sum(-1)[:, None] - 2 * queries @ points.T + (points**2).sum(-1)
    return lax.top_k(-distance, 8)


def beams(start: jax.Array, table: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The best eight sequences of 32 words by a table of transitions."""
    width, words = 8, table.shape[0]

    def step(state: tuple[jax.Array, jax.Array], _: None) -> tuple[Tree, Tree]:
        score, last = state
        scores = (score[:, None] + jax.nn.log_softmax(table[last])).reshape(-1)
        score, best = lax.top_k(scores, width)
        return (score, best % words), (best // words, best % words)

    state = (jnp.where(jnp.arange(width) == 0, 0.0, -1e9), jnp.broadcast_to(start, (width,)))
    (score, _), (parents, chosen) = lax.scan(step, state, None, length=32)

    def back(at: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        parent, word = step
        return parent[at], word[at]

    return score, lax.scan(back, jnp.arange(width), (parents, chosen), reverse=True)[1]


def kalman(model: Tree, seen: jax.Array) -> jax.Array:
    """A filter over a sequence of observations of two numbers, with a state of four."""
    moves, looks = model["moves"], model["looks"]
    noise = 0.01 * jnp.eye(4)

    def step(state: tuple[jax.Array, jax.Array], z: jax.Array) -> tuple[Tree, jax.Array]:
        x, p = state
        x, p = moves @ x, moves @ p @ moves.T + noise
        s = looks @ p @ looks.T + 0.1 * jnp.eye(2)
        gain = jnp.linalg.solve(s, looks @ p).T
        x = x + gain @ (z - looks @ x)
        return (x, (jnp.eye(4) - gain @ looks) @ p), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)[1]


def kalman_model(a: Arrays) -> Tree:
    """Places and speeds, of which the places are seen."""
    moves = np.eye(4, dtype=np.float32)
    moves[0, 2] = moves[1, 3] = 0.1
    return {"moves": moves, "looks": np.eye(2, 4, dtype=np.float32) + a.normal(2, 4, scale=0.01)}


def attraction(place: jax.Array) -> jax.Array:
    """Forces between all pairs."""
    apart = place[None] - place[:, None]
    inverse = lax.rsqrt((apart**2).sum(-1) + 1e-2)
    return (apart * (inverse**3)[..., None]).sum(1)


def bodies(place: jax.Array, speed: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Ten leaps of bodies that attract one another."""

    def step(_: int, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        place, speed = state
        speed = speed + 0.01 * attraction(place)
        return place + 0.01 * speed, speed

    return lax.fori_loop(0, 10, step, (place, speed))


def energy(place: jax.Array) -> jax.Array:
    """Of all pairs, for its gradient."""
    apart = place[None] - place[:, None]
    squares = (apart**2).sum(-1) + jnp.eye(place.shape[0])
    inverse = 1 / squares**3
    return (inverse * inverse - inverse).sum()


def convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """A long convolution by Fourier transforms, as in state space models."""
    length = x.shape[-1]
    product = jnp.fft.rfft(x, 2 * length) * jnp.fft.rfft(kernel, 2 * length)
    return jnp.fft.irfft(product, 2 * length)[..., :length]


def tree_loss(tree: Tree) -> jax.Array:
    """A penalty over forty leaves of many shapes."""
    squares = jax.tree.map(lambda leaf: (leaf * leaf).sum(), tree)
    largest = jax.tree.map(lambda leaf: jnp.abs(leaf).max(), tree)
    total = sum(jax.tree.leaves(squares)) + 0.1 * sum(jax.tree.leaves(largest))
    return jnp.asarray(total)


def leaves(a: Arrays) -> Tree:
    """Forty leaves."""
    return [{"w": a.normal(n + 3, 17), "b": a.normal(n + 1)} for n in range(20)]


def clipped(tree: Tree) -> Tree:
    """All leaves, scaled to a norm of one together."""
    norm = jnp.sqrt(sum((leaf * leaf).sum() for leaf in jax.tree.leaves(tree)))
    return jax.tree.map(lambda leaf: leaf / jnp.maximum(norm, 1), tree)


def viterbi(start: jax.Array, table: jax.Array, seen: jax.Array) -> jax.Array:
    """The likeliest states of a hidden Markov chain."""

    def step(score: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        scores = score[:, None] + table
        return scores.max(0) + now, scores.argmax(0)

    score, parents = lax.scan(step, start, seen)
    last = score.argmax()
    back = lambda at, parent: (parent[at], at)  # noqa: E731
    return lax.scan(back, last, parents, reverse=True)[1]


def waves(u: jax.Array) -> jax.Array:
    """A wave equation in a plane, by slices."""

    def step(_: int, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        now, before = state
        middle = now[1:-1, 1:-1]
        around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
        then = 2 * middle - before[1:-1, 1:-1] + 0.2 * (around - 4 * middle)
        return jnp.pad(then, 1), now

    return lax.fori_loop(0, 20, step, (u, u))[0]


def walkers(key: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A hundred steps of Metropolis, many chains at once."""
    density = lambda x: -0.5 * (x * x).sum(-1)  # noqa: E731

    def step(x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        move, choice = jax.random.split(key)
        new = x + 0.5 * jax.random.normal(move, x.shape)
        better = density(new) - density(x)
        taken = jnp.log(jax.random.uniform(choice, better.shape)) < better
        return jnp.where(taken[:, None], new, x), taken.mean()

    return lax.scan(step, start, jax.random.split(key, 100))


def mandelbrot(c: jax.Array) -> jax.Array:
    """Rounds until each point has left."""
    real, imaginary = c[0], c[1]

    def step(_: int, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        a, b, rounds = state
        inside = a * a + b * b < 4
        a, b = a * a - b * b + real, 2 * a * b + imaginary
        return a, b, rounds + inside

    zeros = jnp.zeros_like(real)
    return lax.fori_loop(0, 50, step, (zeros, zeros, jnp.zeros(real.shape, jnp.int32)))[2]


WORKLOADS = [
    Workload(
        "nearest 8 of 4096x32 f32",
        neighbours,
        lambda a: (a.normal(256, 32), a.normal(4096, 32)),
        quick=True,
    ),
    Workload("beam search 32x8x500 f32", beams, lambda a: (np.int32(3), a.normal(500, 500))),
    Workload("kalman filter 200x4 f32", kalman, lambda a: (kalman_model(a), a.normal(200, 2))),
    Workload(
        "n bodies 10x256 f32",
        bodies,
        lambda a: (a.normal(256, 3), a.normal(256, 3, scale=0.1)),
        quick=True,
    ),
    Workload("gradient of pairs 256x3 f32", jax.grad(energy), lambda a: (a.normal(256, 3),)),
    Workload(
        "convolution by rfft 16x4096 f32",
        convolved,
        lambda a: (a.normal(16, 4096), a.normal(16, 4096)),
    ),
    Workload("tree loss 40 leaves f32", tree_loss, lambda a: (leaves(a),)),
    Workload("gradient of tree loss 40 leaves f32", jax.grad(tree_loss), lambda a: (leaves(a),)),
    Workload("clip by norm 40 leaves f32", clipped, lambda a: (leaves(a),)),
    Workload(
        "viterbi 200x64 f32",
        viterbi,
        lambda a: (a.normal(64), a.normal(64, 64), a.normal(200, 64)),
    ),
    Workload("waves 20x256x256 f32", waves, lambda a: (a.normal(256, 256),)),
    Workload(
        "metropolis 100x256x4 f32",
        walkers,
        lambda a: (np.array([0, 42], np.uint32), a.normal(256, 4)),
    ),
    Workload("mandelbrot 50x256x256 f32", mandelbrot, lambda a: (a.normal(2, 256, 256),)),
]
