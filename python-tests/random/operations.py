"""The operations that random programs are made of, each with how near XLA's result has to be.

`exact` is the same number, `ulp` so many units in the last place, `sum` so many roundings of the
sum of magnitudes, `self` no comparison with XLA: what it gives has to be the same in all ways to
run it and no more.
"""

from collections.abc import Callable
from typing import TypedDict

import control
import values
from generate import Value, Writer
from library import LIBRARY
from movement import MOVEMENT

Maker = Callable[[Writer], object]

# What JAX gives of one argument, with the units in the last place that both may be off together.
UNARY_FLOAT = {
    "lax.neg": 0, "lax.abs": 0, "lax.floor": 0, "lax.ceil": 0, "lax.round": 0, "lax.sign": 0,
    "lax.sqrt": 1, "lax.rsqrt": 4, "lax.cbrt": 8, "lax.exp": 8, "lax.exp2": 8, "lax.expm1": 16,
    "lax.log": 8, "lax.log1p": 16, "lax.sin": 16, "lax.cos": 16, "lax.tan": 32, "lax.tanh": 16,
    "lax.sinh": 32, "lax.cosh": 32, "lax.asin": 32, "lax.acos": 32, "lax.atan": 16,
    "lax.asinh": 32, "lax.acosh": 32, "lax.atanh": 32, "lax.logistic": 16, "lax.erf": 32,
    "lax.erfc": 64, "lax.erf_inv": 64, "lax.lgamma": -1, "lax.digamma": -1,
    "lax.bessel_i1e": -1, "lax.bessel_i0e": -1, "lax.is_finite": 0, "lax.square": 1,
    "lax.reciprocal": 1, "jnp.isnan": 0, "jax.nn.relu": 0, "jax.nn.softplus": -1,
    "jnp.signbit": 0, "jnp.nan_to_num": 0,
}  # fmt: skip
UNARY_COMPLEX = {
    "lax.neg": 0, "lax.real": 0, "lax.imag": 0, "lax.conj": 0, "lax.abs": 4, "lax.exp": 32,
    "lax.log": 32, "lax.sqrt": 32, "lax.sin": 64, "lax.cos": 64, "lax.tanh": 64, "lax.sign": 16,
    "lax.expm1": 64, "lax.log1p": 64, "lax.rsqrt": 64, "lax.square": 16, "jnp.angle": 16,
}  # fmt: skip
UNARY_INTEGER = (
    "lax.neg", "lax.abs", "lax.sign", "lax.bitwise_not", "lax.population_count", "lax.clz",
    "lax.square",
)  # fmt: skip
BINARY_FLOAT = {
    "lax.add": 0, "lax.sub": 0, "lax.mul": 0, "lax.div": 1, "lax.max": 0, "lax.min": 0,
    "lax.rem": 0, "lax.pow": 32, "lax.atan2": 16, "lax.nextafter": 0, "lax.complex": 0,
    "jnp.hypot": -1, "jnp.logaddexp": -1, "jnp.floor_divide": -1,
}  # fmt: skip
BINARY_INTEGER = (
    "lax.add", "lax.sub", "lax.mul", "lax.max", "lax.min", "lax.div", "lax.rem",
    "lax.bitwise_and", "lax.bitwise_or", "lax.bitwise_xor", "lax.shift_left",
    "lax.shift_right_logical", "lax.shift_right_arithmetic",
)  # fmt: skip
COMPARISONS = ("lax.eq", "lax.ne", "lax.lt", "lax.le", "lax.gt", "lax.ge")


class Bound(TypedDict):
    """How near a line has to be."""

    bound: str
    amount: float


def bound_of(ulps: int, dtype: str) -> Bound:
    """The bound that so many units are."""
    if ulps < 0:
        return {"bound": "self", "amount": 0}
    # What is computed in a wider type and rounded twice is off by one.
    ulps += dtype in values.EIGHTS and ulps >= 0
    return {"bound": "ulp" if ulps else "exact", "amount": ulps}


def unary(of: Writer) -> None:
    """A function of each element."""
    a = of.value()
    if a is None or a.kind == "b":
        if a is not None:
            of.put(f"lax.bitwise_not({a.name})", a)
        return
    if a.kind == "i":
        of.put(f"{of.rng.choice(UNARY_INTEGER)}({a.name})", a)
        return
    table = UNARY_FLOAT if a.kind == "f" else UNARY_COMPLEX
    name = of.rng.choice(list(table))
    of.put(f"{name}({a.name})", a, **bound_of(table[name], a.dtype))


def binary(of: Writer) -> None:
    """A function of two."""
    a = of.value()
    if a is None:
        return
    b = of.like(a)
    if of.below(5) == 0 and a.kind != "c":
        of.put(f"{of.rng.choice(COMPARISONS)}({a.name}, {b.name})", a, b)
        return
    if a.kind == "f":
        name = of.rng.choice(list(BINARY_FLOAT))
        if name == "lax.mul" and (a.mask or b.mask):
            return
        # A remainder of numbers far apart is as exact as the quotient is large.
        of.put(f"{name}({a.name}, {b.name})", a, b, **bound_of(BINARY_FLOAT[name], a.dtype))
    elif a.kind == "c":
        name = of.rng.choice(("lax.add", "lax.sub", "lax.mul", "lax.div", "lax.eq"))
        if name == "lax.mul" and (a.mask or b.mask):
            return
        amount = {"lax.mul": 8, "lax.div": 16}.get(name, 0)
        of.put(f"{name}({a.name}, {b.name})", a, b, **bound_of(amount, a.dtype))
    elif a.kind == "i":
        name = of.rng.choice(BINARY_INTEGER)
        # What is divided by itself is 1 to XLA, 0 too.
        near = "self" if name in {"lax.div", "lax.rem"} and a.name == b.name else "exact"
        of.put(f"{name}({a.name}, {b.name})", a, b, bound=near)
    else:
        name = of.rng.choice(("and", "or", "xor"))
        of.put(f"lax.bitwise_{name}({a.name}, {b.name})", a, b)


def spread(of: Writer) -> None:
    """Two arrays of other extents, spread out as NumPy does."""
    a = of.value(lambda value: value.rank > 0 and value.kind != "b")
    if a is None:
        return
    dims = [1 if of.below(3) == 0 else dim for dim in a.shape][of.below(a.rank) :]
    b = of.like(Value("", tuple(dims), a.dtype))
    if a.mask or b.mask:
        return
    name = of.rng.choice(("add", "subtract", "maximum", "minimum", "multiply"))
    complex_product = name == "multiply" and a.kind == "c"
    of.put(f"jnp.{name}({a.name}, {b.name})", a, b, **bound_of(8 * complex_product, a.dtype))


def select(of: Writer) -> None:
    """One of two or three."""
    a = of.value()
    if a is None:
        return
    b = of.like(a)
    if of.below(3) == 0 and a.kind in "fi":
        c = of.like(a)
        of.put(f"lax.clamp({b.name}, {a.name}, {c.name})", a, b, c)
        return
    p = of.like(a, "bool")
    of.put(f"jnp.where({p.name}, {a.name}, {b.name})", p, a, b)


def convert(of: Writer) -> None:
    """Another type."""
    a = of.value()
    if a is None:
        return
    to = of.rng.choice(of.types if of.below(2) else values.EVERY)
    if a.kind == "c" and values.kind(to) != "c":
        return
    name = "bool_" if to == "bool" else to
    if of.below(4) == 0:
        of.put(f"lax.bitcast_convert_type({a.name}, jnp.{name})", a)
        return
    # Numbers out of an integer's range are whatever the machine makes of them.
    wild = a.kind == "f" and values.kind(to) == "i" and to not in {"int32", "int64"}
    of.put(f"lax.convert_element_type({a.name}, jnp.{name})", a, bound="self" if wild else "exact")


def some_axes(of: Writer, rank: int) -> tuple[int, ...]:
    """Some axes, one more often than several."""
    if rank == 0:
        return ()
    if of.below(2):
        return (of.below(rank),)
    return tuple(axis for axis in range(rank) if of.below(2))


def reduce(of: Writer) -> None:
    """A reduction along some axes."""
    a = of.value()
    if a is None:
        return
    axes = some_axes(of, a.rank)
    kept = of.rng.choice((", keepdims=True", ""))
    if a.kind == "b":
        name = of.rng.choice(("any", "all", "sum", "argmax"))
    elif a.kind == "c":
        name = of.rng.choice(("sum", "prod", "mean"))
    else:
        name = of.rng.choice(
            ("sum", "prod", "max", "min", "mean", "any", "argmax", "argmin", "var", "lax", "ptp")
        )
    if name in {"argmax", "argmin"}:
        if a.rank:
            of.put(f"jnp.{name}({a.name}, axis={of.below(a.rank)}{kept})", a)
        return
    if name == "lax":
        wild = of.rng.choice(("lax.max", "lax.min", "lax.add"))
        init = of.like(Value("", (), a.dtype))
        code = f"lax.reduce({a.name}, {init.name}, {wild}, {axes})"
        # XLA leaves out what it takes to change nothing.
        of.put(code, a, init, bound="self")
        return
    exact = name in {"max", "min", "any", "all", "ptp"} or (a.kind in "ib" and name != "mean")
    exact = exact and name != "var"
    near = "exact" if exact else ("sum" if name in {"sum", "mean"} else "self")
    of.put(f"jnp.{name}({a.name}, axis={axes}{kept})", a, bound=near, amount=a.rank + 8)


def cumulate(of: Writer) -> None:
    """Sums, products and extremes up to each element."""
    a = of.value(lambda value: value.rank > 0 and value.kind in "fic")
    if a is None:
        return
    name = of.rng.choice(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"))
    exact = a.kind == "i" or name in {"cummax", "cummin"}
    near = "exact" if exact else ("sum" if name == "cumsum" else "self")
    code = f"lax.{name}({a.name}, axis={of.below(a.rank)}, reverse={bool(of.below(2))})"
    of.put(code, a, bound=near, amount=16)


def windows(of: Writer) -> None:
    """A reduction over windows."""
    a = of.value(lambda value: value.rank > 0 and value.kind in "fi")
    if a is None:
        return
    size = tuple(of.below(3) + 1 for _ in a.shape)
    steps = tuple(of.below(2) + 1 for _ in a.shape)
    padding = of.rng.choice(
        ("'SAME'", "'VALID'", str(tuple((of.below(3), of.below(3)) for _ in a.shape)))
    )
    init, name = of.rng.choice(
        (("0", "lax.add"), ("1", "lax.mul"), ("-jnp.inf", "lax.max"), ("jnp.inf", "lax.min"))
    )
    if a.kind == "i":
        least, greatest = values.integer_range(a.dtype)
        init = {"-jnp.inf": str(least), "jnp.inf": str(greatest)}.get(init, init)
    init = f"np.asarray({init}, {a.name}.dtype)"
    if name == "lax.add" and of.below(2):
        dilation = tuple(of.below(2) + 1 for _ in a.shape)
        more = f", window_dilation={dilation}"
    else:
        more = ""
    near = "exact" if a.kind == "i" or name in {"lax.max", "lax.min"} else "self"
    code = f"lax.reduce_window({a.name}, {init}, {name}, {size}, {steps}, {padding}{more})"
    of.put(code, a, bound=near)


def sort(of: Writer) -> None:
    """An order: of one array, of several by the first, the places, the greatest."""
    a = of.value(lambda value: value.rank > 0)
    if a is None:
        return
    axis = of.below(a.rank)
    choice = of.below(5)
    if choice == 0:
        of.put(f"lax.sort({a.name}, dimension={axis})", a)
    elif choice == 1:
        of.put(f"jnp.argsort({a.name}, axis={axis}, stable=True)", a)
    elif choice == 2:
        b = of.like(a, of.rng.choice(of.types))
        part = of.below(2)
        of.put(f"lax.sort(({a.name}, {b.name}), dimension={axis}, num_keys=1)[{part}]", a, b)
    elif choice == 3:
        most = a.shape[-1]
        count = of.below(most + 1)
        of.put(f"lax.top_k({a.name}, {count})[{of.below(2)}]", a)
    else:
        of.put(f"jnp.flip(jnp.sort({a.name}, axis={axis}), {axis})", a)


def product(of: Writer) -> None:
    """A product of arrays along some axes, with batches or without."""
    a = of.value(lambda value: value.rank <= 4 and value.kind in "fic")
    if a is None:
        return
    order = list(range(a.rank))
    of.rng.shuffle(order)
    batches = of.below(min(2, a.rank) + 1)
    sums = of.below(min(2, a.rank - batches) + 1)
    lhs_batch, lhs_sum = order[:batches], order[batches : batches + sums]
    free = [of.rng.choice(values.EXTENTS) for _ in range(of.below(3))]
    dims = [a.shape[axis] for axis in lhs_batch + lhs_sum] + free
    places = list(range(len(dims)))
    of.rng.shuffle(places)
    shape = [0] * len(dims)
    for at, place in enumerate(places):
        shape[place] = dims[at]
    b = of.like(Value("", tuple(shape), a.dtype))
    rhs_batch, rhs_sum = places[:batches], places[batches : batches + sums]
    numbers = ((lhs_sum, rhs_sum), (lhs_batch, rhs_batch))
    code = f"lax.dot_general({a.name}, {b.name}, {numbers}, precision='highest')"
    of.put(code, a, b, bound="exact" if a.kind == "i" else "sum", amount=16)


def convolution(of: Writer) -> None:
    """A convolution with small extents."""
    a = of.value(lambda value: value.rank in {3, 4} and value.kind in "fc")
    if a is None:
        return
    space = a.rank - 2
    groups = of.rng.choice((1, 1, 1, max(a.shape[1], 1)))
    features = groups * of.rng.choice((0, 1, 1, 2, 3))
    kernel = (features, a.shape[1] // groups, *(of.below(4) for _ in range(space)))
    b = of.like(Value("", kernel, a.dtype))
    steps = tuple(of.below(2) + 1 for _ in range(space))
    padding = of.rng.choice(
        ("'SAME'", "'VALID'", str([(of.below(3), of.below(3)) for _ in range(space)]))
    )
    left = tuple(of.below(2) + 1 for _ in range(space))
    right = tuple(of.below(2) + 1 for _ in range(space))
    if padding == "'SAME'":
        left = (1,) * space
    code = (
        f"lax.conv_general_dilated({a.name}, {b.name}, {steps}, {padding}, lhs_dilation={left},"
        f" rhs_dilation={right}, feature_group_count={groups}, precision='highest')"
    )
    of.put(code, a, b, bound="sum", amount=16)


def transform(of: Writer) -> None:
    """A Fourier transform."""
    a = of.value(
        lambda value: value.rank > 0 and value.dtype in {"float32", "float64", *values.COMPLEX}
    )
    if a is None:
        return
    name = of.rng.choice(("fft", "ifft", "rfft", "irfft", "fft2", "hfft"))
    of.put(f"jnp.fft.{name}({a.name})", a, bound="self")


def randoms(of: Writer) -> None:
    """Random bits of a key."""
    shape = values.pick_shape(of.rng)
    key = f"jax.random.key({of.below(100)})"
    choice = of.below(6)
    if choice == 0:
        of.put(f"jax.random.bits({key}, {shape})")
    elif choice == 1:
        dtype = of.rng.choice(("float32", "float64", "bfloat16", "float16"))
        of.put(f"jax.random.uniform({key}, {shape}, jnp.{dtype})")
    elif choice == 2:
        of.put(f"jax.random.normal({key}, {shape})", bound="ulp", amount=64)
    elif choice == 3:
        of.put(f"jax.random.randint({key}, {shape}, 0, 10)")
    elif choice == 4:
        of.put(f"jax.random.permutation({key}, {of.below(20)})")
    else:
        of.put(f"lax.rng_bit_generator(np.arange(4, dtype=np.uint32), {shape})[1]", bound="self")


def matrix(of: Writer) -> None:
    """A factorisation, or a system that is solved."""
    a = of.value(
        lambda value: (
            value.rank >= 2
            and value.dtype in {"float32", "float64", *values.COMPLEX}
            and max(value.shape) < 20
        )
    )
    if a is None:
        return
    if a.shape[-1] == a.shape[-2]:
        b = of.like(a)
        code = of.rng.choice((
            f"lax.linalg.triangular_solve({a.name}, {b.name}, left_side=True, lower=True)",
            f"jnp.linalg.cholesky({a.name} @ jnp.conj(jnp.swapaxes({a.name}, -1, -2)))",
            f"jnp.linalg.det({a.name})",
            f"jnp.tril({a.name})",
            f"jnp.trace({a.name}, axis1=-1, axis2=-2)",
        ))  # fmt: skip
        of.put(code, a, b, bound="self")
        return
    code = of.rng.choice((f"jnp.linalg.qr({a.name}, mode='r')", f"jnp.triu({a.name}, 1)"))
    of.put(code, a, bound="self")


def normal(of: Writer) -> None:
    """Rows as networks treat them: a mean taken off, a softmax."""
    a = of.value(
        lambda value: (
            value.rank > 0 and value.dtype in {"float32", "float64", "float16", "bfloat16"}
        )
    )
    if a is None:
        return
    axis = of.below(a.rank)
    code = of.rng.choice((
        f"jax.nn.softmax({a.name}, axis={axis})",
        f"jax.nn.log_softmax({a.name}, axis={axis})",
        f"({a.name} - jnp.mean({a.name}, axis={axis}, keepdims=True))",
        f"jax.nn.standardize({a.name}, axis={axis})",
        f"jax.nn.logsumexp({a.name}, axis={axis})",
        f"jnp.max({a.name}, axis={axis}, keepdims=True, initial=-1) - {a.name}",
        f"jax.nn.gelu({a.name})",
        f"jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))({a.name})",
    ))  # fmt: skip
    of.put(code, a, bound="self")


OPERATIONS: tuple[tuple[Maker, float], ...] = (
    (unary, 9), (binary, 10), (spread, 4), (select, 4), (convert, 5), (reduce, 7), (cumulate, 2),
    (windows, 2), (sort, 3), (product, 3), (convolution, 2), (transform, 1), (randoms, 1),
    (matrix, 1), (normal, 2), *MOVEMENT, *control.CONTROL, *LIBRARY,
)  # fmt: skip
