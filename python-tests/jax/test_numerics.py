"""Which products a precision means, and the values and random bits of XLA's CPU backend."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emulator import output

# A number that f32 holds and bf16 rounds to one.
FINE = np.float32(1 + 2**-10)


def product(precision: str | None = None) -> float:
    """FINE times one, as a matrix product."""
    fine = jnp.full((8, 8), FINE)
    return float(jnp.dot(fine, jnp.eye(8, dtype=np.float32), precision=precision)[0, 0])


def test_a_product_at_default_precision_rounds_its_factors_to_bf16():
    assert product() == product("default") == 1


def test_a_product_at_highest_precision_keeps_f32():
    assert product("highest") == FINE
    with jax.default_matmul_precision("float32"):
        assert product() == FINE


def test_sums_of_bf16_products_are_f32():
    ones = jnp.ones((1, 4096), np.float32)
    assert float(jnp.dot(ones, ones.T)[0, 0]) == 4096


def test_the_environment_asks_for_exact_products():
    program = """
    import jax.numpy as jnp
    x = jnp.full((8, 8), 1 + 2**-10)
    print(float(jnp.dot(x, jnp.eye(8))[0, 0]) == 1 + 2**-10)
    """
    assert output(program, {"TPU_EMU_NUMERICS": "ieee"}) == "True\n"
    assert output(program, {"TPU_EMU_NUMERICS": "tpu"}) == "False\n"


# What both backends run: bits of random numbers, then one program for each type.
SWEEP = """
    import json
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    told = {}

    def tell(name, value):
        value = np.asarray(value)
        bits = np.atleast_1d(value).view(f"u{min(value.itemsize, 8)}")
        told[name] = [str(value.dtype), list(value.shape), bits.ravel().tolist()]

    @jax.jit
    def randoms(key):
        return {
            "bits": jax.random.bits(key, (5, 3)),
            "split": jax.random.key_data(jax.random.split(key, 3)),
            "uniform": jax.random.uniform(key, (7,), "float32"),
            "randint": jax.random.randint(key, (7,), -5, 1000),
            "permutation": jax.random.permutation(key, 20),
            "bernoulli": jax.random.bernoulli(key, 0.3, (9,)),
        }

    for seed in (0, 1, 2**31):
        for name, value in randoms(jax.random.key(seed)).items():
            tell(f"random {name} of seed {seed}", value)

    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    binary = ["add", "subtract", "multiply", "minimum", "maximum", "greater"]
    unary = ["max", "argmin", "sort", "any", "transpose", "square"]
    whole = ["left_shift", "right_shift", "bitwise_xor", "mod", "floor_divide"]

    @jax.jit
    def everything(one, two):
        results = {name: getattr(jnp, name)(one, two) for name in binary}
        results |= {name: getattr(jnp, name)(one) for name in unary}
        results |= {f"to {other}": one.astype(other) for other in [*integers, "float32", "bool"]}
        results["where"] = jnp.where(one > two, one, -two)[::2, ::-1]
        if one.dtype.name in integers:
            results |= {name: getattr(jnp, name)(one, two) for name in whole}
            results |= {"dot": one @ two.T, "sum": one.sum(0), "cumsum": jnp.cumsum(one)}
        return results

    rng = np.random.default_rng(1)
    for dtype in [*integers, "float16", "bfloat16", "float32", "float64"]:
        one = rng.integers(1, 100, (4, 6)).astype(jnp.dtype(dtype))
        two = rng.integers(1, 7, (4, 6)).astype(jnp.dtype(dtype))
        for name, value in everything(one, two).items():
            tell(f"{name} of {dtype}", value)
    print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def sweeps() -> tuple[dict[str, object], dict[str, object]]:
    """What both backends tell: the emulated TPU first."""
    return json.loads(output(SWEEP)), json.loads(output(SWEEP, {"JAX_PLATFORMS": "cpu"}))


def differences(sweeps, chosen) -> dict[str, object]:
    emulated, cpu = sweeps
    assert emulated.keys() == cpu.keys()
    names = [name for name in cpu if chosen(name)]
    assert len(names) > 15
    return {name: (emulated[name], cpu[name]) for name in names if emulated[name] != cpu[name]}


def test_random_numbers_have_the_bits_of_the_cpu_backend(sweeps):
    assert differences(sweeps, lambda name: name.startswith("random")) == {}


def test_operations_on_every_type_have_the_bits_of_the_cpu_backend(sweeps):
    assert differences(sweeps, lambda name: not name.startswith("random")) == {}
