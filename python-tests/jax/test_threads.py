"""Results have the same bits for any number of threads, and programs give what NumPy gives."""

import json

from emulator import output

# Every step is large enough to be split. The last column is what NumPy makes of the same arrays.
PROGRAM = """
import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

draw = np.random.RandomState(0)
array = lambda *shape: draw.randn(*shape).astype(np.float32)
flat, square, table = array(1 << 20), array(512, 512), array(4096, 256)
rows = draw.randint(0, 4096, 8192)
image, kernel = array(4, 32, 32, 16), array(3, 3, 16, 32)
same = dict(window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
programs = {
    "elementwise": (lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(3 * x), flat),
    "sum": (jnp.sum, flat),
    "sums of rows and columns": (lambda x: (x.sum(0), x.sum(1), x.mean()), table),
    "softmax": (jax.nn.softmax, table),
    "product": (lambda x: x @ x.T, square),
    "product of bf16": (lambda x: x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16), square),
    "convolution": (lambda x: lax.conv_general_dilated(x, kernel, **same), image),
    "gradient of a convolution": (
        jax.grad(lambda x: (lax.conv_general_dilated(x, kernel, **same) ** 2).sum()),
        image,
    ),
    "pool and its gradient": (jax.grad(lambda x: (pool(x) ** 2).sum()), image),
    "gather": (lambda x: x[rows], table),
    "segments": (lambda x: jax.ops.segment_sum(x[rows], rows % 64, 64), table),
    "running sum": (lambda x: jnp.cumsum(x, axis=0), table),
    "sort": (jnp.sort, flat),
    "order": (jnp.argsort, flat),
    "largest": (lambda x: lax.top_k(x, 7), table),
    "transpose": (lambda x: x.T + 1, table),
    "normal": (lambda x: jax.random.normal(jax.random.PRNGKey(0), x.shape), flat),
    "fourier": (lambda x: jnp.fft.rfft(x).real, table),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 512 * jnp.eye(512)), square),
}
known = {
    "elementwise": lambda x: np.tanh(x) * np.exp(-x * x) + np.sin(3 * x),
    "gather": lambda x: x[rows],
    "running sum": lambda x: np.cumsum(x, axis=0, dtype=np.float64),
    "sort": np.sort,
    "transpose": lambda x: x.T + 1,
}
found = {}
for name, (function, argument) in programs.items():
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(argument))]
    if name in known:
        np.testing.assert_allclose(leaves[0], known[name](argument), rtol=1e-5, atol=1e-4)
    found[name] = hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest()
print(json.dumps(found))
"""


def test_results_do_not_depend_on_the_number_of_threads():
    one, *others = (
        json.loads(output(PROGRAM, {"TPU_EMU_THREADS": threads})) for threads in ("1", "2", "5")
    )
    assert len(one) == 19
    for other in others:
        assert other == one
