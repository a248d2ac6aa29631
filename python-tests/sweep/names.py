"""Functions of JAX's NumPy, of its networks, its SciPy and its random numbers, by name."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax

from drawn import Case, Dice

ONE = [
    "absolute",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "argwhere_",
    "around",
    "atleast_1d",
    "atleast_3d",
    "average",
    "bartlett_",
    "bincount_",
    "bitwise_count",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "cumsum",
    "cumprod",
    "deg2rad",
    "diff",
    "ediff1d",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "flatnonzero_",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "frexp",
    "gradient",
    "i0",
    "imag",
    "interp_",
    "invert",
    "isclose_",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "modf",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumsum",
    "negative",
    "packbits",
    "positive",
    "rad2deg",
    "radians",
    "ravel",
    "real",
    "reciprocal",
    "rint",
    "rot90",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sort_complex",
    "spacing",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trace",
    "trapezoid",
    "trim_zeros_",
    "trunc",
    "unpackbits",
    "unwrap",
    "vander_",
    "argmax",
    "argmin",
    "argsort",
    "nonzero_",
    "histogram_",
    "cross_",
]
ONE = [name for name in ONE if not name.endswith("_") and hasattr(jnp, name)]
TWO = [
    "add",
    "arctan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "divide",
    "divmod",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "heaviside",
    "hypot",
    "isclose",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
    "array_equal",
    "allclose",
    "polyadd",
]
TWO = [name for name in TWO if hasattr(jnp, name)]
NETS = [
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "sparse_plus",
    "silu",
    "soft_sign",
    "log_sigmoid",
    "leaky_relu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "elu",
    "celu",
    "selu",
    "gelu",
    "glu",
    "squareplus",
    "mish",
    "logsumexp",
    "log_softmax",
    "softmax",
    "standardize",
    "identity",
]
NETS = [name for name in NETS if hasattr(jax.nn, name)]
SPECIAL = [
    "bernoulli_",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "fresnel",
    "gammaln",
    "gamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "spence",
    "log_softmax",
    "softmax",
    "logsumexp",
]
SPECIAL = [name for name in SPECIAL if hasattr(jsp.special, name)]
SPECIAL_TWO = [
    name
    for name in [
        "betaln",
        "entr",
        "xlogy",
        "xlog1py",
        "gammainc",
        "gammaincc",
        "kl_div",
        "rel_entr",
        "beta",
        "poch",
        "zeta",
    ]
    if hasattr(jsp.special, name) and name != "entr"
]
EXACT = {
    "absolute",
    "atleast_1d",
    "atleast_3d",
    "bitwise_count",
    "ceil",
    "conj",
    "fabs",
    "fix",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "imag",
    "invert",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "logical_not",
    "modf",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "negative",
    "packbits",
    "positive",
    "ravel",
    "real",
    "rint",
    "rot90",
    "sign",
    "signbit",
    "sort_complex",
    "square",
    "trunc",
    "unpackbits",
    "argmax",
    "argmin",
    "argsort",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "equal",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "heaviside",
    "isclose",
    "lcm",
    "left_shift",
    "less",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "nextafter",
    "not_equal",
    "remainder",
    "mod",
    "right_shift",
    "subtract",
    "add",
    "multiply",
    "relu",
    "relu6",
    "hard_tanh",
    "identity",
    "frexp",
    "ldexp",
    "diff",
    "ediff1d",
}


def bound(name: str, dice: Dice) -> float:
    return 0 if name in EXACT and dice.kind != "c" else 300


def one(module, prefix: str, name: str, dice: Dice) -> Case:
    special = dice.chance(0.25) and name not in ("trapezoid", "gradient", "diff", "trace", "sinc")
    return Case(
        f"{prefix}.{name}",
        getattr(module, name),
        [dice.array(dice.shape(), special=special)],
        bound(name, dice) if prefix != "special" else 20000,
    )


def two(module, prefix: str, name: str, dice: Dice) -> Case:
    dims = dice.shape()
    other = tuple(1 if dice.chance(0.2) else dim for dim in dims)[
        dice.upto(len(dims)) if dice.chance(0.3) else 0 :
    ]
    kind = (
        dice.dtype
        if dice.chance(0.75)
        else dice.pick(
            [
                "float32",
                "int32",
                "int8",
                "uint8",
                "bool",
                "bfloat16",
                "float64",
                "complex64",
                "int4",
            ]
        )
    )
    special = dice.chance(0.2) and name not in ("gcd", "lcm")
    x, y = dice.array(dims, special=special), dice.array(other, kind, special=special)
    if "shift" in name or name == "ldexp":
        y = np.clip(
            np.abs(y.astype(np.int64)) if y.dtype.kind != "c" else np.zeros(other, int), 0, 3
        ).astype(np.int32 if dice.dtype == "bool" or name == "ldexp" else y.dtype)
    if (
        name in ("floor_divide", "remainder", "mod", "fmod", "divmod")
        and dice.kind in "iu"
        and y.dtype.kind != "c"
    ):
        y = np.where(y == 0, np.ones((), y.dtype), y).astype(y.dtype)
    return Case(
        f"{prefix}.{name} {kind}",
        getattr(module, name),
        [x, y],
        bound(name, dice) if prefix != "special" else 20000,
    )


DISTRIBUTIONS = {
    "bits": lambda key, dims, of: jax.random.bits(key, dims, of),
    "uniform": lambda key, dims, of: jax.random.uniform(key, dims, of),
    "normal": lambda key, dims, of: jax.random.normal(key, dims, of),
    "truncated_normal": lambda key, dims, of: jax.random.truncated_normal(key, -1, 1, dims, of),
    "randint": lambda key, dims, of: jax.random.randint(key, dims, 0, 3, of),
    "bernoulli": lambda key, dims, of: jax.random.bernoulli(key, 0.4, dims),
    "categorical": lambda key, dims, of: jax.random.categorical(
        key, jnp.ones((3, 5), of), shape=(3,)
    ),
    "gumbel": lambda key, dims, of: jax.random.gumbel(key, dims, of),
    "exponential": lambda key, dims, of: jax.random.exponential(key, dims, of),
    "laplace": lambda key, dims, of: jax.random.laplace(key, dims, of),
    "cauchy": lambda key, dims, of: jax.random.cauchy(key, dims, of),
    "rademacher": lambda key, dims, of: jax.random.rademacher(key, dims, of),
    "gamma": lambda key, dims, of: jax.random.gamma(key, 2.0, dims, of),
    "beta": lambda key, dims, of: jax.random.beta(key, 2.0, 3.0, dims, of),
    "poisson": lambda key, dims, of: jax.random.poisson(key, 3.0, dims, of),
    "dirichlet": lambda key, dims, of: jax.random.dirichlet(key, jnp.ones(3, of), dims, of),
    "permutation": lambda key, dims, of: jax.random.permutation(
        key, jnp.arange(int(np.prod(dims))).astype(of)
    ),
    "choice": lambda key, dims, of: jax.random.choice(key, jnp.arange(9).astype(of), dims),
    "multivariate_normal": lambda key, dims, of: jax.random.multivariate_normal(
        key, jnp.zeros(3, of), jnp.eye(3, dtype=of), dims, of
    ),
    "orthogonal": lambda key, dims, of: abs(jax.random.orthogonal(key, 3, dims[:1], of)),
    "split": lambda key, dims, of: jax.random.key_data(jax.random.split(key, dims)),
    "fold_in": lambda key, dims, of: jax.random.key_data(jax.random.fold_in(key, 7)),
    "binomial": lambda key, dims, of: jax.random.binomial(key, 10, 0.5, dims, of),
    "geometric": lambda key, dims, of: jax.random.geometric(key, 0.5, dims, of),
    "t": lambda key, dims, of: jax.random.t(key, 3.0, dims, of),
    "loggamma": lambda key, dims, of: jax.random.loggamma(key, 2.0, dims, of),
    "ball": lambda key, dims, of: jax.random.ball(key, 3, 2, dims, of),
    "maxwell": lambda key, dims, of: jax.random.maxwell(key, dims, of),
}


def drawn(name: str, dice: Dice) -> Case:
    dims = dice.shape(most=4, size=300)
    implementation = dice.pick(
        ["threefry2x32", "threefry2x32", "threefry2x32", "rbg", "unsafe_rbg"]
    )
    seed = dice.upto(10**6)
    of = jnp.dtype(dice.dtype)

    def run(x):
        key = jax.random.wrap_key_data(
            jnp.zeros(2 if implementation == "threefry2x32" else 4, jnp.uint32) + x,
            impl=implementation,
        )
        return DISTRIBUTIONS[name](key, dims, of)

    return Case(
        f"random.{name} {dims} {implementation}",
        run,
        [np.array(seed, np.uint32)],
        2000,
        differentiable=False,
    )


def bits(dice: Dice) -> Case:
    dims = dice.shape(size=500)
    algorithm = dice.pick(
        [
            lax.RandomAlgorithm.RNG_THREE_FRY,
            lax.RandomAlgorithm.RNG_PHILOX,
            lax.RandomAlgorithm.RNG_DEFAULT,
        ]
    )
    words = 2 if algorithm == lax.RandomAlgorithm.RNG_THREE_FRY else dice.pick([2, 3])
    key = dice.rng.integers(0, 2**62, words).astype(np.uint64)
    return Case(
        f"rng_bit_generator {algorithm} {dims}",
        lambda key: lax.rng_bit_generator(key, dims, jnp.dtype(dice.dtype), algorithm),
        [key],
        0 if algorithm != lax.RandomAlgorithm.RNG_DEFAULT else None,
        differentiable=False,
    )


def betainc(dice: Dice) -> Case:
    dims = dice.shape()
    return Case(
        "betainc",
        lambda a, b, x: lax.betainc(abs(a) + 1, abs(b) + 1, abs(x) / 5),
        [dice.array(dims) for _ in range(3)],
        20000,
    )


FAMILY = {
    **{f"jnp {name}": (partial(one, jnp, "jnp", name)) for name in ONE},
    **{f"jnp {name}": (partial(two, jnp, "jnp", name)) for name in TWO},
    **{f"nn {name}": (partial(one, jax.nn, "nn", name)) for name in NETS},
    **{f"special {name}": (partial(one, jsp.special, "special", name)) for name in SPECIAL},
    **{f"special {name}": (partial(two, jsp.special, "special", name)) for name in SPECIAL_TWO},
    **{
        f"random {name}": (partial(drawn, name))
        for name in DISTRIBUTIONS
        if hasattr(jax.random, name)
    },
    "rng_bit_generator": bits,
    "betainc": betainc,
}
