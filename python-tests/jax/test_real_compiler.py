"""`TPU_EMU_COMPILER`: what another compiler says of programs, and what stands where it is silent.

The other one is a fake that these tests compile, and where the package libtpu is installed, that.
"""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_command import command

from emulator import LIBRARY, run

SOURCE = Path(__file__).with_name("fake_libtpu.c")
HEADERS = Path(__file__).resolve().parents[2] / "pjrt-plugin" / "sys" / "include"

MIB = 1 << 20

PROGRAM = """
import jax
import jax.numpy as jnp

def f(x):
    return jnp.sin(x) @ x

x = jnp.ones((64, 64))
try:
    compiled = jax.jit(f).lower(x).compile()
except Exception as error:
    print("refused", type(error).__name__, error)
else:
    memory = compiled.memory_analysis()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    print("temporaries", memory.temp_size_in_bytes, "flops", cost["flops"])
    print("sum", float(compiled(x).sum()))
    stats = jax.devices()[0].memory_stats()
    print("peak", stats["peak_bytes_in_use"])
"""


@functools.cache
def fake() -> str:
    """The fake, compiled."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler")
    built = LIBRARY.parent / f"fake_libtpu.{os.getpid()}.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-I", str(HEADERS), "-o", str(built)]
    subprocess.run([*command, str(SOURCE)], check=True)
    return str(built)


@pytest.fixture(scope="module", autouse=True)
def _no_fake_stays():
    yield
    if fake.cache_info().currsize:
        Path(fake()).unlink()


def shown(behaviour, folder, program=PROGRAM, **more):
    """A program in a process of its own that shows it to the fake."""
    environment = {
        "TPU_EMU_COMPILER": fake(),
        "TPU_EMU_COMPILER_CACHE": str(folder / "cache"),
        "TPU_EMU_TEST_FAKE": behaviour,
        "TPU_EMU_TEST_FAKE_LOG": str(folder / "log"),
        **more,
    }
    done = run(program, environment)
    assert done.returncode == 0, done.stderr
    return done


def said(done):
    """The lines of ours on standard error."""
    return [line for line in done.stderr.splitlines() if line.startswith("tpu-emu: ")]


def compiled(folder):
    """How many programs the fake was shown."""
    log = folder / "log"
    return log.read_text().splitlines().count("compile mlir") if log.exists() else 0


@functools.cache
def alone():
    """What the program prints without another compiler."""
    done = run(PROGRAM)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stands(done):
    """Whether the plan of tpu-emu has stood for all: its numbers, and results."""
    return done.stdout == alone()


def test_its_numbers_stand_for_ours_and_results_stay(tmp_path):
    done = shown("answers", tmp_path)
    assert f"temporaries {7 * MIB} flops 4711.0" in done.stdout
    line = next(line for line in alone().splitlines() if line.startswith("sum"))
    assert line in done.stdout
    assert said(done) == []
    peak = int(done.stdout.rsplit(maxsplit=1)[-1])
    assert 7 * MIB <= peak < 8 * MIB


def test_a_second_run_asks_nothing_of_it(tmp_path):
    first = shown("answers", tmp_path)
    asked = compiled(tmp_path)
    assert asked > 1
    second = shown("aborts", tmp_path)
    assert (second.stdout, said(second)) == (first.stdout, [])
    log = (tmp_path / "log").read_text()
    assert compiled(tmp_path) == asked
    assert log.count("loaded") == 1


def test_without_the_variable_nothing_is_loaded(tmp_path):
    run(PROGRAM, {"TPU_EMU_TEST_FAKE_LOG": str(tmp_path / "log")})
    assert not (tmp_path / "log").exists()


def test_a_damaged_answer_is_asked_for_again(tmp_path):
    first = shown("answers", tmp_path)
    asked = compiled(tmp_path)
    for kept in (tmp_path / "cache").iterdir():
        kept.write_bytes(kept.read_bytes()[:-3])
    assert shown("answers", tmp_path).stdout == first.stdout
    assert compiled(tmp_path) == 2 * asked


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("aborts", "its process was ended by signal 6: F0101 00:00:00 fake.cc:1] Check failed"),
        ("exits", "its process ended with code 7"),
    ],
)
def test_where_it_ends_its_process_our_plan_stands_and_each_program_is_named(
    tmp_path, behaviour, words
):
    done = shown(behaviour, tmp_path)
    assert stands(done)
    lines = said(done)
    ours = [line for line in lines if "gives no answer for jit_f: " in line]
    assert len(ours) == 1
    assert words in ours[0]
    assert len(lines) == len(set(lines))


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("nothing", "its GetPjrtApi gives nothing"),
        ("short", "its table of functions has 8 bytes"),
        ("version", "it speaks PJRT 1."),
        ("not_initialized", "it cannot be initialized: no luck today"),
        ("no_topology", "it has no topology v5e:2x4x1,chips_per_host_bounds=2x4x1: such chips"),
        ("holes", "it has no PJRT_Compile"),
    ],
)
def test_one_that_cannot_be_used_is_named_once(tmp_path, behaviour, words):
    done = shown(behaviour, tmp_path)
    assert stands(done)
    assert len(said(done)) == 1
    assert words in said(done)[0]
    assert "the plan of tpu-emu stands" in said(done)[0]


@pytest.mark.parametrize("behaviour", ["later", "prints"])
def test_a_later_version_and_one_that_prints_are_understood(tmp_path, behaviour):
    done = shown(behaviour, tmp_path)
    assert f"temporaries {7 * MIB}" in done.stdout
    assert said(done) == []


def test_one_that_hangs_is_ended(tmp_path):
    program = PROGRAM.replace(
        "x = jnp.ones((64, 64))", "x = jax.device_put(np.ones((64, 64), 'f'))"
    )
    program = f"import numpy as np\n{program}".replace(".sum())", "[0, 0])")
    program = program.replace("float(compiled(x)", "float(np.asarray(compiled(x))")
    done = shown("hangs", tmp_path, program, TPU_EMU_COMPILER_TIMEOUT="1")
    words = "gives no answer for jit_f: it said nothing for 1 seconds and was ended"
    assert any(words in line for line in said(done))
    assert "sum" in done.stdout


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("memory", "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, as a"),
        ("refuses", "UNIMPLEMENTED: A fake does not do that."),
    ],
)
def test_its_refusals_are_ours_in_its_words(tmp_path, behaviour, words):
    program = PROGRAM.replace("x = jnp.ones((64, 64))", "x = jax.ShapeDtypeStruct((64, 64), 'f')")
    done = shown(behaviour, tmp_path, program)
    assert "refused" in done.stdout
    assert words in done.stdout
    # It is not asked for the same words again.
    assert words in shown("answers", tmp_path, program).stdout


def test_a_refusal_for_memory_that_the_chip_has_not_does_not_count(tmp_path):
    done = shown("memory", tmp_path, TPU_EMU_HBM_BYTES="64GiB")
    assert any("which TPU_EMU_HBM_BYTES gives more than" in line for line in said(done))
    assert "sum" in done.stdout


def test_programs_that_it_cannot_read_run(tmp_path):
    done = shown("older", tmp_path)
    assert stands(done)
    assert any("refuses jit_f (Failed to parse using StableHLO" in line for line in said(done))


def test_its_temporaries_decide_in_a_smaller_memory(tmp_path):
    program = PROGRAM.replace("x = jnp.ones((64, 64))", "x = jax.ShapeDtypeStruct((64, 64), 'f')")
    done = shown("large", tmp_path, program, TPU_EMU_HBM_BYTES="1GiB")
    assert "refused" in done.stdout
    assert "exceeds available HBM (1.00G)" in done.stdout
    assert f"Planned by {fake()}." in done.stdout


def test_reports_name_who_has_planned(tmp_path):
    trace = tmp_path / "run.trace"
    shown("answers", tmp_path, TPU_EMU_TRACE=str(trace))
    assert json.loads(command("summary", "--json", trace).stdout)["planners"] == [fake()]
    assert f"largest temporaries, planned by {fake()}" in command("summary", trace).stdout.decode()
    assert run(PROGRAM, {"TPU_EMU_TRACE": str(trace)}).returncode == 0
    assert json.loads(command("summary", "--json", trace).stdout)["planners"] == ["tpu-emu"]


def test_a_file_that_is_none_is_named(tmp_path):
    done = shown("answers", tmp_path, TPU_EMU_COMPILER="/nowhere/libtpu.so")
    assert stands(done)
    words = "TPU_EMU_COMPILER=/nowhere/libtpu.so: /nowhere/libtpu.so is no file"
    assert said(done) == [f"tpu-emu: {words}; the plan of tpu-emu stands"]


def test_a_library_that_is_no_compiler_is_named(tmp_path):
    other = shutil.copy(SOURCE, tmp_path / "libtpu.so")
    done = shown("answers", tmp_path, TPU_EMU_COMPILER=str(other))
    assert stands(done)
    assert len(said(done)) == 1
    assert "it cannot be loaded: " in said(done)[0]


REAL = """
import json, os, re
import jax
import jax.numpy as jnp

def step(w, x):
    def loss(w):
        return (jax.nn.relu(x @ w) ** 2).mean()
    value, g = jax.value_and_grad(loss)(w)
    return w - 0.1 * g, value

def sharded(w, x):
    return jnp.sin(x @ w).sum()

def told(compiled):
    memory = compiled.memory_analysis()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    names = [name for name in dir(memory) if name.endswith("in_bytes")]
    sizes = {name: getattr(memory, name) for name in names}
    # The order of what stands in it is another in each process.
    text = re.sub(r"backend_config={.*}", "", compiled.as_text())
    return [sizes, dict(sorted(cost.items())), text]

if os.environ["JAX_PLATFORMS"] == "tpu":
    devices = jax.devices()
else:
    from jax.experimental import topologies
    devices = topologies.get_topology_desc(
        platform="tpu", topology_name="v5e:2x4", chips_per_host_bounds=(2, 4, 1)
    ).devices
P = jax.sharding.PartitionSpec
one = jax.sharding.SingleDeviceSharding(devices[0])
mesh = jax.sharding.Mesh(devices, "d")
rows = jax.sharding.NamedSharding(mesh, P("d"))
whole = jax.sharding.NamedSharding(mesh, P())
S = jax.ShapeDtypeStruct
w, x = (512, 1024), (4096, 512)
programs = [
    jax.jit(step, donate_argnums=0).lower(S(w, "f", sharding=one), S(x, "f", sharding=one)),
    jax.jit(sharded).lower(S(w, "f", sharding=whole), S(x, "f", sharding=rows)),
]
print(json.dumps([told(program.compile()) for program in programs]))
"""

has_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="the package libtpu is not installed"
)


@has_libtpu
def test_the_numbers_of_the_real_one_are_what_it_says_when_it_is_asked_directly(tmp_path):
    asked = {"TPU_EMU_COMPILER": "libtpu", "TPU_EMU_COMPILER_CACHE": str(tmp_path)}
    ours = run(REAL, asked)
    assert ours.returncode == 0, ours.stderr
    spec = importlib.util.find_spec("libtpu")
    assert spec is not None
    assert spec.origin is not None
    library = Path(spec.origin).with_name("libtpu.so")
    direct = run(
        REAL,
        {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_LIBRARY_PATH": str(library)},
    )
    assert direct.returncode == 0, direct.stderr
    assert ours.stdout == direct.stdout
    again = run(REAL, {**asked, "LIBTPU_INIT_ARGS": ""})
    assert again.stdout == ours.stdout


@has_libtpu
def test_both_plans_stand_side_by_side_by_line_and_type(tmp_path):
    program = """
    import jax
    import jax.numpy as jnp

    def step(w, x):
        h = jnp.tanh(x @ w)
        return (jnp.sort(h, axis=0) @ w.T).sum()

    w, x = jnp.ones((512, 8192)), jnp.ones((8192, 512))
    print(jax.jit(jax.grad(step))(w, x).shape)
    """
    trace = tmp_path / "run.trace"
    done = run(
        program,
        {
            "TPU_EMU_COMPILER": "libtpu",
            "TPU_EMU_COMPILER_CACHE": str(tmp_path),
            "TPU_EMU_TRACE": str(trace),
        },
    )
    assert done.returncode == 0, done.stderr
    [plan] = json.loads(command("plans", "--program", "jit_step", "--json", trace).stdout)["plans"]
    assert "libtpu" in plan["planner"]
    assert 0.7 < plan["other"] / plan["charged"] < 1.3
    both = [row for row in plan["rows"] if row["own"]["values"] and row["other"]["values"]]
    assert any(row["array"] == "f32[8192,8192]" for row in both), plan["rows"]
    text = command("plans", trace).stdout.decode()
    assert "by tpu-emu, of " in text
    assert plan["planner"] in text


@has_libtpu
def test_what_does_not_fit_by_its_plan_is_refused_with_what_holds_the_room(tmp_path):
    program = """
    import jax
    import jax.numpy as jnp

    def step(x):
        return jnp.sort(x, axis=0).T @ x

    x = jnp.ones((8192, 4096))
    compiled = jax.jit(step).lower(x).compile()
    memory = compiled.memory_analysis()
    print(
        memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
        + memory.generated_code_size_in_bytes
    )
    print(compiled(x).shape)
    """
    asked = {"TPU_EMU_COMPILER": "libtpu", "TPU_EMU_COMPILER_CACHE": str(tmp_path)}
    needed = int(run(program, asked).stdout.split()[0])
    fits = run(program, {**asked, "TPU_EMU_HBM_BYTES": str(needed * 100 // 95)})
    assert "(4096, 4096)" in fits.stdout, fits.stderr
    refused = run(program, {**asked, "TPU_EMU_HBM_BYTES": str(needed * 100 // 105)})
    assert refused.returncode != 0
    text = refused.stderr[refused.stderr.index("RESOURCE_EXHAUSTED: E1000:") :]
    assert "libtpu" in text
    largest = text[text.index("Largest temporaries:") :].splitlines()[1]
    assert "[8192,4096]" in largest or "[1024,32,8,128]" in largest, text
    assert largest.endswith(" at <string>:6"), text


WITHOUT_DEVICES = """
import jax
import jax.numpy as jnp
from jax.experimental import topologies

[device, *_] = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices
x = jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=jax.sharding.SingleDeviceSharding(device))
compiled = jax.jit(lambda x: jnp.sin(x) @ x).lower(x).compile()
print("temporaries", compiled.memory_analysis().temp_size_in_bytes)
"""


def test_it_is_asked_for_topologies_without_devices_too(tmp_path):
    done = shown("answers", tmp_path, WITHOUT_DEVICES)
    assert done.stdout == f"temporaries {7 * MIB}\n"
