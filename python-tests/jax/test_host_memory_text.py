"""The text of a compiled program says which arrays lie in the memory of the host."""

import re

from emulator import output

PROGRAM = """
import functools
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax.ad_checkpoint import checkpoint_name

mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("x",))
on = NamedSharding(mesh, P("x"))
host = on.with_memory_kind("pinned_host")

@functools.partial(jax.jit, out_shardings=(on, host))
def split(x):
    return x + 1.0, x * 2.0

x = jax.device_put(jnp.arange(16.0).reshape(4, 4), on)
print("split", split.lower(x).compile().as_text().splitlines()[0])
print(np.asarray(split(x)[1])[3, 3])

@functools.partial(jax.jit, in_shardings=host, out_shardings=on)
def fetch(x):
    return jax.device_put(x, on) + 1.0

kept = jax.device_put(x, host)
print("fetch", fetch.lower(kept).compile().as_text().splitlines()[0])
print(np.asarray(fetch(kept))[3, 3])

names = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["kept"],
    offload_src="device", offload_dst="pinned_host")

@functools.partial(jax.remat, policy=names)
def loss(x):
    def layer(y, _):
        z = checkpoint_name(jnp.sin(y), "kept")
        return jnp.sin(z) * 2.0, None
    return jnp.sum(jax.lax.scan(layer, x, None, length=3)[0])

grad = jax.jit(jax.grad(loss))
text = grad.lower(x).compile().as_text()
for line in text.splitlines():
    if " while(" in line or "copy-start(" in line or "copy-done(" in line:
        print("offload", line.strip())
plain = jax.grad(lambda x: loss.__wrapped__(x))(x)
print(float(jnp.abs(grad(x) - plain).max()))
print("plain", "S(5)" in jax.jit(jnp.sin).lower(x).compile().as_text())
"""


def said(devices: int) -> list[str]:
    return output(PROGRAM.replace("DEVICES", str(devices))).splitlines()


def of(lines: list[str], word: str) -> list[str]:
    return [line.removeprefix(word + " ") for line in lines if line.startswith(word + " ")]


def check(devices: int) -> None:
    lines = said(devices)
    [split] = of(lines, "split")
    parameters, _, results = split.partition("entry_computation_layout=")[2].partition("->")
    assert "S(5)" not in parameters
    assert re.match(r"\(f32\[\d,4\]\{[^}]*\}, f32\[\d,4\]\{[^}]*S\(5\)\}\)", results)
    [fetch] = of(lines, "fetch")
    parameters, _, results = fetch.partition("entry_computation_layout=")[2].partition("->")
    assert "S(5)" in parameters
    assert "S(5)" not in results
    offload = "\n".join(of(lines, "offload"))
    # There and back; the loops carry the array of all rounds, which lies there.
    assert re.search(r"\(f32\[[\d,]+\]\{[^}]*S\(5\)\}, f32\[[\d,]+\]\{[^S}]*\}, u32\[\]", offload)
    assert re.search(r"\(f32\[[\d,]+\]\{[^S}]*\}, f32\[[\d,]+\]\{[^}]*S\(5\)\}, u32\[\]", offload)
    assert re.search(r"f32\[3,\d,4\]\{[^}]*S\(5\)\}.* while\(", offload)
    assert lines[1] == "30.0"
    assert lines[3] == "16.0"
    assert float(lines[-2]) == 0.0
    assert lines[-1] == "plain False"


def test_on_one_device():
    check(1)


def test_on_two_devices():
    check(2)
