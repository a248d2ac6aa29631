"""Products, convolutions, FFT and linear algebra."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

from drawn import TYPES, Case, Dice, Function


def loose(dice: Dice) -> float:
    return 0 if dice.kind in "biu" else 400


def dot(dice: Dice) -> Case:
    batch = [min(dice.extent(), 9) for _ in range(dice.pick([0, 0, 0, 1, 1, 2]))]
    summed = [min(dice.extent(), 130) for _ in range(dice.pick([0, 1, 1, 1, 1, 2]))]
    left = [min(dice.extent(), 33) for _ in range(dice.pick([0, 1, 1, 1, 2]))]
    right = [min(dice.extent(), 33) for _ in range(dice.pick([0, 1, 1, 1, 2]))]

    def side(own: list[int]) -> tuple[tuple[int, ...], list[int], list[int]]:
        dims = [*batch, *summed, *own]
        order = dice.rng.permutation(len(dims)).tolist()
        return (
            tuple(dims[at] for at in order),
            [order.index(at) for at in range(len(batch))],
            [order.index(len(batch) + at) for at in range(len(summed))],
        )

    a, a_batch, a_summed = side(left)
    b, b_batch, b_summed = side(right)
    wanted = dice.pick(
        [
            None,
            None,
            None,
            "float32",
            "int32",
            "float64",
            "bfloat16",
            "int64",
            "float16",
            "complex64",
        ]
    )
    precision = dice.pick([None, None, "highest", "default", "high"])
    other = dice.dtype if dice.chance(0.8) else dice.pick(TYPES)
    numbers = ((a_summed, b_summed), (a_batch, b_batch))
    return Case(
        f"dot {numbers} {wanted} {precision} {other}",
        lambda x, y: lax.dot_general(
            x, y, numbers, precision=precision, preferred_element_type=wanted and jnp.dtype(wanted)
        ),
        [dice.array(a), dice.array(b, other)],
        400,
    )


def ragged(dice: Dice) -> Case:
    m, k, n, g = (min(dice.extent(), 17) for _ in range(4))
    sizes = dice.rng.multinomial(m, np.ones(max(g, 1)) / max(g, 1)).astype(np.int32)[:g]
    return Case(
        "ragged_dot", lax.ragged_dot, [dice.array((m, k)), dice.array((g, k, n)), sizes], 400
    )


def conv(dice: Dice) -> Case:
    spatial = dice.pick([0, 1, 1, 2, 2, 3])
    groups, batch_groups = dice.pick([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)])
    batch = dice.pick([0, 1, 2, 3]) * batch_groups
    ins, outs = dice.pick([1, 2, 3, 5]), dice.pick([1, 2, 3, 5]) * groups * batch_groups
    if dice.chance(0.05):
        ins = 0
    size = [dice.pick([1, 2, 3, 5, 8, 1, 0]) if dice.chance(0.9) else 33 for _ in range(spatial)]
    kernel = [dice.pick([1, 2, 3, 4, 1]) for _ in range(spatial)]
    if spatial == 3:
        size = [min(dim, 5) for dim in size]
    order_x = dice.rng.permutation(spatial + 2).tolist()
    order_k = dice.rng.permutation(spatial + 2).tolist()
    order_o = dice.rng.permutation(spatial + 2).tolist()
    strides = [dice.pick([1, 1, 2, 3]) for _ in kernel]
    padding = dice.pick(["SAME", "VALID", None, None])
    if padding is None:
        low = -1 if dice.chance(0.2) else 0
        padding = [(int(dice.rng.integers(low, 4)), int(dice.rng.integers(low, 4))) for _ in kernel]
    base = [dice.pick([1, 1, 2, 3]) for _ in kernel] if dice.chance(0.4) else None
    inner = [dice.pick([1, 1, 2]) for _ in kernel] if dice.chance(0.4) else None
    numbers = lax.ConvDimensionNumbers(
        *(tuple(np.argsort(order).tolist()) for order in (order_x, order_k, order_o))
    )

    def laid(dims: list[int], order: list[int]) -> tuple[int, ...]:
        return tuple(dims[at] for at in order)

    x = dice.array(laid([batch, ins * groups, *size], order_x))
    k = dice.array(laid([outs, ins, *kernel], order_k))
    wanted = dice.pick([None, None, None, "float32", "int32", "float64"])
    flip = dice.chance(0.15)
    return Case(
        f"conv {numbers} {strides} {padding} {base} {inner} {groups} {batch_groups} {wanted}",
        lambda x, k: lax.conv_general_dilated(
            x,
            lax.rev(k, [at for at, of in enumerate(order_k) if of > 1]) if flip else k,
            strides,
            padding,
            base,
            inner,
            numbers,
            groups,
            batch_groups,
            preferred_element_type=wanted and jnp.dtype(wanted),
        ),
        [x, k],
        400,
    )


def conv_transpose(dice: Dice) -> Case:
    spatial = dice.pick([1, 2])
    x = dice.array((dice.pick([1, 2]), *(dice.pick([1, 3, 5]) for _ in range(spatial)), 3))
    k = dice.array((*(dice.pick([1, 2, 3]) for _ in range(spatial)), 3, 2))
    strides, padding = [dice.pick([1, 2, 3])] * spatial, dice.pick(["SAME", "VALID"])
    return Case(
        f"conv_transpose {strides} {padding}",
        lambda x, k: lax.conv_transpose(x, k, strides, padding, transpose_kernel=False),
        [x, k],
        400,
    )


def fft(name: str, dice: Dice) -> Case:
    if dice.dtype not in (
        "float32",
        "float64",
        "complex64",
        "complex128",
        "int32",
        "bfloat16",
        "float16",
        "bool",
    ):
        return Case(name, lambda x: x, [dice.array(())])
    dims = dice.shape(least=1, most=4)
    count = {"2": 2, "n": len(dims)}.get(name[-1], 1)
    count = min(count, 3, len(dims))
    axes = (
        dice.rng.permutation(len(dims))[:count].tolist()
        if name[-1] != "t"
        else [dice.upto(len(dims) - 1)]
    )
    n = None if dice.chance(0.6) else [dice.pick([1, 2, 3, 5, 8, 16, 17]) for _ in axes]
    norm = dice.pick([None, "ortho", "forward"])

    def run(x):
        function = getattr(jnp.fft, name)
        if name[-1] in "2n":
            return function(x, s=n, axes=axes, norm=norm)
        return function(x, n=n and n[0], axis=axes[0], norm=norm)

    return Case(f"{name} {axes} {n} {norm}", run, [dice.array(dims)], 4000)


def square(dice: Dice, *, positive: bool = False) -> np.ndarray:
    batch = dice.pick([(), (), (1,), (2,), (0,), (2, 3)])
    n = dice.pick([0, 1, 2, 3, 5, 8, 17])
    x = dice.array((*batch, n, n))
    if dice.kind in "fc":
        x = x + 9 * np.eye(n).astype(x.dtype)
    if positive and dice.kind in "fc":
        wide = x.astype(np.complex128 if dice.kind == "c" else np.float64)
        x = (wide @ wide.conj().swapaxes(-1, -2) / max(n, 1) + np.eye(n)).astype(x.dtype)
    return x


def made_again(x: Any) -> Any:
    """A matrix out of its singular vectors and values, and the values."""
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :]) @ v, s


def linear(name: str, dice: Dice) -> Case:
    rows = dice.pick([(), (1,), (2,), (0,)])
    wide = dice.array((*rows, dice.pick([0, 1, 2, 3, 5, 8]), dice.pick([0, 1, 2, 3, 5])))
    sq, pos = square(dice), square(dice, positive=True)
    rhs = dice.array((*sq.shape[:-1], dice.pick([0, 1, 2, 5])))
    low, left, trans, unit = (dice.chance(0.5) for _ in range(4))
    full = dice.chance(0.5)
    conj = dice.chance(0.5)
    many = 20000.0
    cases: dict[str, Callable[[], tuple[Function, list[np.ndarray]]]] = {
        "cholesky": lambda: (lambda x: jnp.linalg.cholesky(x), [pos]),
        "cholesky_solve": lambda: (
            lambda x, b: jsl.cho_solve((jnp.linalg.cholesky(x), True), b),
            [pos, dice.array((*pos.shape[:-1], 2))],
        ),
        "qr": lambda: (lambda x: abs(jnp.linalg.qr(x, mode="reduced")[1]), [wide]),
        "qr full": lambda: (
            lambda x: jnp.matmul(*jnp.linalg.qr(x, mode="complete")),
            [wide],
        ),
        "svd": lambda: (lambda x: jnp.linalg.svd(x, full_matrices=full, compute_uv=False), [wide]),
        "svd uv": lambda: (made_again, [wide]),
        "eigh": lambda: (
            lambda x: (lambda w, v: (w, (v * w[..., None, :]) @ v.conj().swapaxes(-1, -2)))(
                *jnp.linalg.eigh(x)
            ),
            [pos],
        ),
        "eigvalsh": lambda: (lambda x: jnp.linalg.eigvalsh(x), [pos]),
        "lu": lambda: (lambda x: lax.linalg.lu(x), [wide]),
        "lu_solve": lambda: (lambda x, b: jnp.linalg.solve(x, b), [sq, rhs]),
        "inv": lambda: (lambda x: jnp.linalg.inv(x), [sq]),
        "det": lambda: (lambda x: jnp.linalg.det(x), [sq]),
        "slogdet": lambda: (lambda x: jnp.linalg.slogdet(x), [sq]),
        "lstsq": lambda: (
            lambda x, b: jnp.linalg.lstsq(x, b)[0],
            [
                sq[(0,) * (sq.ndim - 2)] if 0 not in sq.shape[:-2] else sq,
                rhs[(0,) * (rhs.ndim - 2)] if 0 not in rhs.shape[:-2] else rhs,
            ],
        ),
        "pinv": lambda: (lambda x: jnp.linalg.pinv(x), [sq]),
        "expm": lambda: (lambda x: jsl.expm(x / 20), [sq]),
        "triangular": lambda: (
            lambda a, b: lax.linalg.triangular_solve(
                a,
                b,
                left_side=left,
                lower=low,
                transpose_a=trans,
                conjugate_a=conj,
                unit_diagonal=False,
            ),
            [sq, rhs if left else rhs.swapaxes(-1, -2).copy()],
        ),
        "triangular unit": lambda: (
            lambda a, b: lax.linalg.triangular_solve(
                a / 9, b, left_side=left, lower=low, transpose_a=trans, unit_diagonal=True
            ),
            [sq, rhs if left else rhs.swapaxes(-1, -2).copy()],
        ),
        "norm": lambda: (lambda x: jnp.linalg.norm(x, axis=-1), [wide]),
        "matrix_power": lambda: (lambda x: jnp.linalg.matrix_power(x / 9, 3), [sq]),
        "hessenberg": lambda: (lambda x: abs(jsl.hessenberg(x, calc_q=False)), [sq]),
        "tridiagonal_solve": lambda: (
            lambda x: lax.linalg.tridiagonal_solve(x * 0 + 1, x * 0 + 9, x * 0 + 1, x[..., None]),
            [dice.array((dice.pick([1, 2, 3, 5, 17]),))],
        ),
        "matmul": lambda: (
            lambda x, y: jnp.matmul(x, y),
            [wide, dice.array((*wide.shape[:-2], wide.shape[-1], 3))],
        ),
        "outer": lambda: (lambda x, y: jnp.outer(x, y), [wide, wide]),
        "kron": lambda: (lambda x: jnp.kron(x, x[:1]), [wide]),
        "einsum": lambda: (lambda x, y: jnp.einsum("...ij,...ij->...j", x, y), [wide, wide]),
        "vdot": lambda: (lambda x, y: jnp.vdot(x, y), [wide, wide]),
        "tensordot": lambda: (
            lambda x, y: jnp.tensordot(x, y, x.ndim - 1) if not unit else jnp.tensordot(x, y.T, 1),
            [wide, wide],
        ),
        "cov": lambda: (lambda x: jnp.cov(x.reshape(-1, max(x.shape[-1], 1))), [wide]),
        "convolve": lambda: (
            lambda x: jnp.convolve(
                x.reshape(-1), x.reshape(-1)[:3], mode="same" if full else "full"
            ),
            [wide],
        ),
        "householder": lambda: (
            lambda x: (
                lax.linalg.householder_product(x, x[..., 0, :])
                if x.shape[-2] >= x.shape[-1] > 0
                else x
            ),
            [wide / 4 if dice.kind in "fc" and dice.dtype != "float8_e8m0fnu" else wide],
        ),
    }
    function, operands = cases[name]()
    return Case(
        f"{name} {low} {left} {trans} {unit} {full}",
        function,
        operands,
        many
        if name not in ("matmul", "outer", "kron", "einsum", "vdot", "tensordot")
        else loose(dice) or 0,
    )


LINEAR = [
    "cholesky",
    "cholesky_solve",
    "qr",
    "qr full",
    "svd",
    "svd uv",
    "eigh",
    "eigvalsh",
    "lu",
    "lu_solve",
    "inv",
    "det",
    "slogdet",
    "lstsq",
    "pinv",
    "expm",
    "triangular",
    "triangular unit",
    "norm",
    "matrix_power",
    "hessenberg",
    "tridiagonal_solve",
    "matmul",
    "outer",
    "kron",
    "einsum",
    "vdot",
    "tensordot",
    "cov",
    "convolve",
    "householder",
]
FAMILY = {
    "dot": dot,
    "dot 2": dot,
    "dot 3": dot,
    "ragged_dot": ragged,
    "conv": conv,
    "conv 2": conv,
    "conv 3": conv,
    "conv_transpose": conv_transpose,
    **{
        f"fft {name}": (partial(fft, name))
        for name in (
            "fft",
            "ifft",
            "rfft",
            "irfft",
            "hfft",
            "fft2",
            "ifft2",
            "rfft2",
            "irfft2",
            "fftn",
            "ifftn",
            "rfftn",
            "irfftn",
        )
    },
    **{f"linear {name}": (partial(linear, name)) for name in LINEAR},
}
