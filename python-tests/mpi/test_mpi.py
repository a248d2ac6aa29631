"""Hosts of a slice whose messages go through MPI over the network; `make test-mpi` installs it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator import LIBRARY
from hosts import START, TRANSFORMER, ended, port, start

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "target" / "venv" / "mpi" / "bin"
# No memory that ranks share, and of the ways to the network the one over TCP.
NETWORK = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "lo",
    "MPIR_CVAR_DEBUG_SUMMARY": "1",
}


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not (TOOLS / "mpiexec").exists():
        pytest.skip("MPICH is not installed: make test-mpi")


def launched(
    program: str, ranks: int, variables: dict[str, str], number: str = "$PMI_RANK"
) -> subprocess.CompletedProcess[str]:
    """What ranks print that run a program, each as the process with a number."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TPU_")}
    ours |= NETWORK | {
        "PATH": f"{TOOLS}:{ours['PATH']}",
        "TPU_LIBRARY_PATH": str(LIBRARY),
        "JAX_PLATFORMS": "tpu,cpu",
        "TPU_EMU_TRANSPORT": "mpi",
        "PROGRAM": START + program,
        "PYTHON": sys.executable,
    }
    rank = f'number={number}; TPU_EMU_PROCESS_INDEX=$number exec "$PYTHON" -c "$PROGRAM" $number'
    command = [str(TOOLS / "mpiexec"), "-n", str(ranks), "bash", "-c", f"{rank} {ranks} {port()}"]
    return subprocess.run(
        command, env=ours | variables, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_transformer_on_four_hosts_over_tcp_learns_with_the_bits_of_one_chip():
    [one] = ended(start(TRANSFORMER, [0], 1, {"TPU_EMU_TOPOLOGY": "v5e:1x1"}))
    assert one.startswith("curve")
    hosts = {"TPU_EMU_TOPOLOGY": "v5e:2x4,chips_per_host_bounds=1x2x1"}
    done = launched(TRANSFORMER, 4, hosts)
    assert done.returncode == 0, done.stderr
    assert "libfabric provider: tcp" in done.stdout
    assert done.stdout.count(one.strip()) == 4


KILLED = """
import signal, time
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("x")), lambda _: np.zeros(1))
total = jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))
print("total", float(total(x)), flush=True)
if me == 1:
    print("killed", time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
float(total(x))
time.sleep(60)
"""


def test_a_rank_that_is_killed_ends_all_at_once():
    done = launched(KILLED, 2, {"TPU_EMU_TOPOLOGY": "v5e:2x2,chips_per_host_bounds=1x2x1"})
    assert done.returncode != 0
    [killed] = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("killed")]
    assert time.time() - float(killed) < 10
    assert "BAD TERMINATION" in done.stdout + done.stderr


def test_ranks_that_are_not_the_processes_are_refused():
    hosts = {"TPU_EMU_TOPOLOGY": "v5e:2x2,chips_per_host_bounds=1x2x1"}
    done = launched("jax.devices()", 2, hosts, "$((1 - PMI_RANK))")
    assert done.returncode != 0
    assert "of a slice of 2, and rank" in done.stdout + done.stderr
