"""Functions of JAX's libraries: several operations a line."""

import values
from generate import Writer

# Of any real array `a` with an axis `n`, whole numbers `i` of its form, and `b` of its form.
REAL = {
    "jnp.diff(a, axis=n)": "self",
    "jnp.median(a, axis=n)": "self",
    "jnp.searchsorted(jnp.sort(a.ravel()), b.ravel())": "exact",
    "jnp.unique(a, size=4, fill_value=0)": "exact",
    "jnp.nonzero(a, size=3, fill_value=0)[0]": "exact",
    "jnp.tile(a, 2)": "exact",
    "jnp.diag(a.ravel()[:8])": "exact",
    "jnp.einsum('...i,...i->...', a, b)": "self",
    "jnp.outer(a.ravel()[:9], b.ravel()[:7])": "exact",
    "jnp.convolve(a.ravel()[:9], b.ravel()[:3]) if a.size else a": "self",
    "jnp.interp(a, jnp.arange(4.0), jnp.arange(4.0) ** 2)": "self",
    "jnp.take_along_axis(a, jnp.argsort(b, axis=n), n)": "exact",
    "jax.ops.segment_sum(a, jnp.arange(a.shape[0]) % 3, 4)": "self",
    "jax.ops.segment_max(a, jnp.arange(a.shape[0]) // 2, 3)": "exact",
    "lax.associative_scan(jnp.maximum, a, axis=n)": "exact",
    "jax.vmap(lambda x, k: jnp.roll(x, 1) + k)(a, b)": "exact",
    "jax.vmap(lambda x, k: x[k])(a[:, None], jnp.arange(a.shape[0]) % 2)": "exact",
    "jax.vmap(lambda x, k: lax.dynamic_slice(x, (k,), (1,)))"
    "(a.reshape(a.shape[0], -1), jnp.arange(a.shape[0]))": "exact",
    "jax.vmap(lambda x, k: x.at[k].set(jnp.zeros((), x.dtype)))"
    "(a, jnp.arange(a.shape[0]) - 1)": "exact",
    "jnp.select([a > b, a == b], [a, -b], jnp.ones((), a.dtype))": "exact",
    "jnp.where(jnp.tri(a.shape[-1], dtype=bool), a[..., None, :], b[..., None])": "exact",
    "jnp.stack(jnp.meshgrid(a.ravel()[:5], b.ravel()[:4]))": "exact",
    "jnp.moveaxis(a[None], 0, -1)": "exact",
    "jnp.rot90(a[..., None], axes=(n, -1))": "exact",
    "jnp.apply_along_axis(jnp.cumsum, n, a)": "self",
    "jnp.array_split(a, 3, axis=n)[1]": "exact",
    "jnp.delete(a, np.arange(min(1, a.shape[n])), axis=n)": "exact",
    "jnp.insert(a, 0, jnp.ones((), a.dtype), axis=n)": "exact",
    "jnp.clip(a, jnp.zeros((), a.dtype), jnp.ones((), a.dtype))": "exact",
    "jnp.maximum(a.max(axis=n, initial=0, keepdims=True), b)": "exact",
    "jnp.argsort(jnp.stack([a, b]), axis=0)": "exact",
    "jnp.lexsort((a.ravel(), b.ravel()))": "exact",
}
FLOAT = {
    "jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,) * x.ndim, (1,) * x.ndim,"
    " 'SAME').sum())(a)": "self",
    "jax.grad(lambda x: (x @ x.swapaxes(-1, -2)).sum())(a) if a.ndim > 1 else a": "self",
    "jax.jvp(lambda x: jnp.sort(x, axis=n), (a,), (b,))[1]": "self",
    "jax.grad(lambda x: jnp.cumsum(x, axis=n).max())(a) if a.size else a": "self",
    "lax.reduce_precision(a, 5, 7)": "self",
    "jnp.frexp(a)[1]": "self",
    "jnp.linalg.norm(a, axis=n)": "self",
    "jnp.round(a, 1)": "self",
    "lax.approx_max_k(a, min(1, a.shape[-1]))[0]": "self",
    "jnp.nanmax(a, axis=n, initial=0)": "exact",
    "jax.nn.one_hot(jnp.argmax(a, axis=n), 4) if a.shape[n] else a": "exact",
    "jnp.histogram(jnp.nan_to_num(a), 4, (-2, 2))[0]": "self",
    "jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)))(a)": "self",
    "lax.custom_linear_solve(lambda x: 2 * x, a, lambda _, x: x / 2)": "self",
    "jax.hessian(lambda x: (x ** 3).sum())(a.ravel()[:4])": "self",
    "jax.image.resize(a.reshape(-1)[:6], (4,), 'linear') if a.size > 5 else a": "self",
    "lax.ragged_dot(a.reshape(-1, 1), b.ravel()[:6].reshape(-1, 1, 1),"
    " jnp.arange(min(b.size, 6), dtype='int32')) if a.size and b.size else a": "self",
}
WHOLE = {
    "jnp.bincount(jnp.abs(a.ravel()) % 5, length=5)": "exact",
    "jax.nn.one_hot(a % 4, 4)": "exact",
    "jnp.unpackbits(a.astype('uint8'), axis=n)": "exact",
    "jnp.packbits(a > b, axis=n)": "exact",
    "a // jnp.where(b == 0, jnp.ones((), b.dtype), b)": "exact",
    "a % jnp.where(b == 0, jnp.ones((), b.dtype), b)": "exact",
    "jnp.gcd(a, b)": "exact",
    "a ** 3": "exact",
    "lax.population_count(a ^ b).sum(axis=n)": "exact",
    "jnp.digitize(a, jnp.arange(4))": "exact",
    "jnp.cumsum(a, axis=n)[..., ::-1]": "exact",
    "jnp.bitwise_count(a)": "exact",
    "lax.mulhi(a, b) if hasattr(lax, 'mulhi') else a": "exact",
}


def function(of: Writer) -> None:
    """A line of one of the tables."""
    a = of.value(
        lambda value: value.rank > 0 and value.kind in "fi" and value.dtype not in values.SMALL
        and not value.mask and value.dtype not in values.EIGHTS
    )  # fmt: skip
    if a is None:
        return
    b = of.like(a)
    tables = [REAL, FLOAT if a.kind == "f" else WHOLE]
    code, near = of.rng.choice(list(of.rng.choice(tables).items()))
    if b.mask:
        return
    text = f"(lambda a, b, n: {code})({a.name}, {b.name}, {of.below(a.rank)})"
    of.put(text, a, b, bound=near)


def pieces(of: Writer) -> None:
    """Several views in one line, over views that are there."""
    a = of.value(lambda value: value.rank > 1)
    if a is None:
        return
    code = "x"
    for _ in range(of.below(4) + 2):
        code = of.rng.choice((
            f"{code}[1:]", f"{code}[:, :{of.below(3)}]", f"{code}.T", f"{code}[::-1]",
            f"jnp.swapaxes({code}, 0, 1)", f"{code}[..., ::2]", f"jnp.moveaxis({code}, 0, -1)",
            f"{code}[..., None, :]", f"{code}.reshape({code}.shape[0], -1)"
            if a.shape[0] else f"{code}[:0]", f"jnp.broadcast_to({code}, (2, *{code}.shape))[1]",
        ))  # fmt: skip
    if len(code) < 2000:
        of.put(f"(lambda x: {code})({a.name})", a)


LIBRARY = ((function, 6), (pieces, 4))
