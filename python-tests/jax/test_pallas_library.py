"""The kernels that JAX has in `jax.experimental.pallas.ops.tpu`, against arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emulator import JAXLIB

if JAXLIB < (0, 10):
    pytest.skip("the kernels are other ones", allow_module_level=True)

from test_pallas import near, normal


def attention(q, k, v, *, causal):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32)
    scores = scores * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
    weights = jax.nn.softmax(scores).astype(v.dtype)
    made = jnp.einsum("bhqk,bhkd->bhqd", weights, v, preferred_element_type=jnp.float32)
    return made.astype(q.dtype)


def gradients(function, *arguments):
    def total(*arguments):
        return jnp.sum(function(*arguments).astype(jnp.float32) ** 2)

    return jax.jit(jax.grad(total, argnums=tuple(range(len(arguments)))))(*arguments)


# At default precision operands of products are rounded to bf16.
TOLERANCE = {jnp.float32: 2e-2, jnp.bfloat16: 5e-2}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_and_its_gradient(causal, dtype):
    module = pytest.importorskip("jax.experimental.pallas.ops.tpu.flash_attention")
    given = [normal(1, 2, 256, 128, dtype=dtype, seed=seed) for seed in range(3)]

    def kernel(q, k, v):
        return module.flash_attention(q, k, v, causal=causal, sm_scale=128**-0.5)

    def plain(q, k, v):
        return attention(q, k, v, causal=causal)

    near(jax.jit(kernel)(*given), plain(*given), TOLERANCE[dtype])
    for made, expected in zip(gradients(kernel, *given), gradients(plain, *given), strict=True):
        near(made, expected, 8 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
def test_splash_attention_and_its_gradient(dtype):
    name = "jax.experimental.pallas.ops.tpu.splash_attention"
    kernels = pytest.importorskip(f"{name}.splash_attention_kernel")
    masks = pytest.importorskip(f"{name}.splash_attention_mask")
    given = [normal(2, 256, 128, dtype=dtype, seed=seed) for seed in range(3)]
    mask = masks.MultiHeadMask([masks.CausalMask((256, 256))] * 2)
    splash = kernels.make_splash_mha(mask, head_shards=1, q_seq_shards=1)

    def kernel(q, k, v):
        return splash((q * 128**-0.5).astype(dtype), k, v)

    def plain(q, k, v):
        return attention(q[None], k[None], v[None], causal=True)[0]

    near(jax.jit(kernel)(*given), plain(*given), TOLERANCE[dtype])
    for made, expected in zip(gradients(kernel, *given), gradients(plain, *given), strict=True):
        near(made, expected, 8 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
def test_paged_attention(dtype):
    module = pytest.importorskip("jax.experimental.pallas.ops.tpu.paged_attention")
    batch, heads, groups, feature, page, pages = 4, 8, 4, 128, 16, 8
    q = (normal(batch, heads, feature) * feature**-0.5).astype(dtype)
    k, v = (normal(groups, batch * pages, page, feature, dtype=dtype, seed=seed) for seed in (1, 2))
    lengths = jnp.array([1, 17, 128, 100], jnp.int32)
    order = np.random.default_rng(0).permutation(batch * pages)
    table = jnp.asarray(order.reshape(batch, pages), jnp.int32)
    made = module.paged_attention(q, k, v, lengths, table, pages_per_compute_block=4)
    rows = (groups, batch, page * pages, feature)
    keys, values = k[:, table].reshape(rows), v[:, table].reshape(rows)
    grouped = q.reshape(batch, groups, -1, feature)
    scores = jnp.einsum("bgad,gbtd->bgat", grouped, keys, preferred_element_type=jnp.float32)
    seen = jnp.arange(page * pages) < lengths[:, None, None, None]
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e30))
    expected = jnp.einsum("bgat,gbtd->bgad", weights, values.astype(jnp.float32))
    near(made, expected.reshape(q.shape), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
def test_ragged_paged_attention(dtype):
    name = "jax.experimental.pallas.ops.tpu.ragged_paged_attention.kernel"
    module = pytest.importorskip(name)
    heads, groups, feature, page, pages = 8, 2, 128, 16, 8
    queries, keys = np.array([40, 1, 1, 17]), np.array([100, 128, 17, 17])
    count = len(queries)
    q = normal(int(queries.sum()), heads, feature, dtype=dtype)
    # Keys and values take turns.
    kept = normal(count * pages, page, 2 * groups, feature, dtype=dtype, seed=1)
    table = jax.random.permutation(jax.random.key(3), count * pages)
    table = table.reshape(count, pages).astype(jnp.int32)
    made = module.ragged_paged_attention(
        q,
        kept,
        jnp.asarray(keys, jnp.int32),
        table,
        jnp.asarray(np.concatenate([[0], np.cumsum(queries)]), jnp.int32),
        jnp.array([count], jnp.int32),
        sm_scale=feature**-0.5,
        num_kv_pages_per_block=4,
        num_queries_per_block=16,
    )
    first = 0
    for one, (asks, has) in enumerate(zip(queries.tolist(), keys.tolist(), strict=True)):
        rows = kept[table[one]].reshape(-1, 2 * groups, feature)[:has].astype(jnp.float32)
        k, v = (jnp.repeat(rows[:, at::2], heads // groups, 1) for at in (0, 1))
        asked = q[first : first + asks].astype(jnp.float32)
        scores = jnp.einsum("qhd,khd->hqk", asked, k) * feature**-0.5
        seen = jnp.arange(has) <= (has - asks + jnp.arange(asks))[:, None]
        weights = jax.nn.softmax(jnp.where(seen, scores, -1e30))
        near(made[first : first + asks], jnp.einsum("hqk,khd->qhd", weights, v), TOLERANCE[dtype])
        first += asks


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
def test_grouped_products_and_their_gradients(dtype):
    module = pytest.importorskip("jax.experimental.pallas.ops.tpu.megablox")
    x, w = normal(256, 128, dtype=dtype), normal(4, 128, 128, dtype=dtype, seed=1)
    sizes = jnp.array([100, 0, 28, 128], jnp.int32)

    def kernel(x, w):
        return module.gmm(x, w, sizes, preferred_element_type=jnp.float32)

    def plain(x, w):
        return jax.lax.ragged_dot(x, w, sizes, preferred_element_type=jnp.float32)

    near(jax.jit(kernel)(x, w), plain(x, w), 0.2)
    for made, expected in zip(gradients(kernel, x, w), gradients(plain, x, w), strict=True):
        largest = float(jnp.max(jnp.abs(expected.astype(jnp.float32))))
        near(made / largest, expected / largest, 2e-2)
