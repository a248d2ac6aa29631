"""Starts programs as the processes of a slice."""

import os
import socket
import subprocess
import sys

from emulator import LIBRARY

START = """
import os, sys
import numpy as np
import jax
me, count, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if count > 1:
    jax.distributed.initialize(f"localhost:{port}", count, me)
import jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

HOSTS = "v5e:2x2,chips_per_host_bounds=1x2x1"


def port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def start(
    program: str, numbers: list[int], count: int, variables: dict[str, str] | None = None
) -> list[subprocess.Popen[str]]:
    """A process for each of these numbers, which run a program of JAX.

    A variable that is empty is not there.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TPU_")}
    ours |= {
        "TPU_LIBRARY_PATH": str(LIBRARY),
        "JAX_PLATFORMS": "tpu,cpu",
        "TPU_EMU_TOPOLOGY": HOSTS,
    }
    meet = str(port())
    processes = []
    for place, number in enumerate(numbers):
        its = ours | {"TPU_EMU_PROCESS_INDEX": str(number)} | (variables or {})
        process = subprocess.Popen(
            [sys.executable, "-c", START + program, str(place), str(count), meet],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in its.items() if value},
        )
        processes.append(process)
    return processes


def said(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What each has said, however it has ended."""
    return [process.communicate(timeout=120)[0] for process in processes]


def ended(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What each has said that must succeed."""
    outputs = []
    for process in processes:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        outputs.append(out)
    return outputs


# A training step over all devices: four ways for data and two for the model on eight.
TRANSFORMER = """
shape = (4, 2) if jax.device_count() == 8 else (1, 1)
mesh = Mesh(np.array(jax.devices()).reshape(shape), ("data", "model"))
at = lambda *axes: NamedSharding(mesh, P(*axes))
layers, width, heads, length, words, batch = 2, 32, 4, 16, 64, 8
rng = np.random.default_rng(0)
forms = {"in": ((words, width), at()), "out": ((width, words), at(None, "model"))}
for number in range(layers):
    forms[f"qkv{number}"] = ((width, 3, heads, width // heads), at(None, None, "model"))
    forms[f"mix{number}"] = ((heads, width // heads, width), at("model"))
    forms[f"up{number}"] = ((width, 4 * width), at(None, "model"))
    forms[f"down{number}"] = ((4 * width, width), at("model"))

def put(whole, split):
    return jax.make_array_from_callback(whole.shape, split, lambda index: whole[index])

draw = lambda form: (rng.normal(size=form) / np.sqrt(form[0])).astype(np.float32)
weights = {name: put(draw(form), split) for name, (form, split) in forms.items()}
text = put(rng.integers(0, words, (batch, length + 1)).astype(np.int32), at("data"))

def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

def loss(weights, text):
    x = weights["in"][text[:, :-1]]
    mask = jnp.tril(jnp.ones((length, length), bool))
    for number in range(layers):
        q, k, v = jnp.einsum("bsd,dchk->cbhsk", norm(x), weights[f"qkv{number}"])
        scores = jnp.where(mask, jnp.einsum("bhsk,bhtk->bhst", q, k) / np.sqrt(q.shape[-1]), -1e9)
        seen = jnp.einsum("bhst,bhtk->bshk", jax.nn.softmax(scores), v)
        x = x + jnp.einsum("bshk,hkd->bsd", seen, weights[f"mix{number}"])
        x = x + jax.nn.gelu(norm(x) @ weights[f"up{number}"]) @ weights[f"down{number}"]
    chances = jax.nn.log_softmax(norm(x) @ weights["out"])
    return -jnp.mean(jnp.take_along_axis(chances, text[:, 1:, None], -1))

@jax.jit
def step(weights, text):
    value, slopes = jax.value_and_grad(loss)(weights, text)
    return jax.tree.map(lambda one, slope: one - 0.3 * slope, weights, slopes), value

curve = []
for _ in range(4):
    weights, value = step(weights, text)
    curve.append(np.asarray(value))
assert curve[-1] < curve[0]
print("curve", [value.tobytes().hex() for value in curve])
"""
