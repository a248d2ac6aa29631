"""Traces of format 1.6 made here, with a ledger of what lives: what a report of them must say."""

import random
from dataclasses import dataclass, field
from pathlib import Path

Field = int | str

EVIL = "</script><script>window.broken = 1</script>\n\"'&<!-- \u202e ü"
ENTRY = "PJRT_Client_BufferFromHostBuffer"


def number(value: int) -> bytes:
    """Seven bits a byte, lowest first."""
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def text(words: str) -> bytes:
    """Length and UTF-8."""
    letters = words.encode()
    return number(len(letters)) + letters


@dataclass
class Block:
    """What lives at an address."""

    address: int
    size: int
    stack: int
    logical: int
    space: int


@dataclass
class Scene:
    """A trace, and the blocks that live at its end so far."""

    minor: int = 6
    out: bytearray = field(default_factory=bytearray)
    live: dict[tuple[int, int], Block] = field(default_factory=dict)
    in_use: dict[int, int] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    at_peak: dict[int, list[Block]] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    specs: dict[int, int] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    time: int = 1_000_000
    changes: int = 0
    keeps_peaks: bool = True

    def start(self, devices: int = 1, capacity: int = 1 << 30) -> None:
        """The process and its memories; host memory is behind those of the devices."""
        self.out += b"TPUEMUTR\x01\x00" + bytes([self.minor, 0])
        self.put(1, 4711, 1_700_000_000_000_000_000, "0.1.0", "v5e:2x2")
        for device in range(devices):
            self.put(2, device, device + 1, f"TPU_{device}", "device", capacity)
        self.put(2, devices, 0, "host", "pinned_host", 1 << 34)
        self.put(13, 0, 0)

    def put(self, kind: int, *fields: Field) -> None:
        """A record."""
        payload = b"".join(text(of) if isinstance(of, str) else number(of) for of in fields)
        self.out += bytes([kind]) + len(payload).to_bytes(4, "little") + payload

    def array(self, spec: int, rows: int, columns: int) -> None:
        """An array type of f32 in tiles of 8 by 128."""
        padded = -(-rows // 8) * 8 * -(-columns // 128) * 128 * 4
        self.specs[spec] = rows * columns * 4
        shape = (2, rows, columns)
        self.put(3, spec, "f32", *shape, "{1,0:T(8,128)}", rows * columns * 4, padded)

    def line(self, stack: int, function: str, line: int, path: str = "/home/user/train.py") -> None:
        """A stack whose innermost Python frame is a line: under `main`, over two native frames."""
        if stack == 10:
            self.put(4, 1, 1, 1, "main", path, 90, "python3")
            self.put(5, 1, 0, 1)
            self.put(
                4, 2, 1, 0, "_PyEval_EvalFrameDefault", "ceval.c", 5000, "/usr/lib/libpython3.11.so"
            )
            heap = "/build/tpu-emu/src/hbm/heap.rs"
            self.put(4, 3, 1, 0, "allocate", heap, 50, "/x/libpjrt_tpu_emu.so")
            name = "xla::PjRtCApiClient::BufferFromHostBuffer(void const*, int)"
            self.put(4, 4, 1, 0, name, "", 0, "/x/site-packages/jaxlib/libjax_common.so")
        self.put(4, stack, 1, 1, function, path, line, "python3")
        self.put(5, stack * 4, 1, 2)
        self.put(5, stack * 4 + 1, stack * 4, stack)
        self.put(5, stack * 4 + 2, stack * 4 + 1, 4)
        self.put(5, stack * 4 + 3, stack * 4 + 2, 3)
        self.lines[stack * 4 + 3] = f"{path}:{line} {function}"

    def stack(self, line: int) -> int:
        """The number of the stack of a line."""
        return line * 4 + 3

    def change(self, kind: int, block: Block, spec: int, label: int, time: int | None) -> None:
        """A change in memory."""
        self.time = self.time + 1000 if time is None else time
        sequence = self.sequences[block.space] = self.sequences.get(block.space, 0) + 1
        fields = (block.space, sequence, block.address, block.size, spec, block.stack, 7, self.time)
        self.put(kind, *fields, ENTRY, label)
        self.changes += 1

    def take(
        self,
        address: int,
        size: int,
        *,
        line: int = 10,
        spec: int = 1,
        label: int = 0,
        space: int = 0,
        time: int | None = None,
    ) -> None:
        """Takes a block."""
        block = Block(address, size, self.stack(line), self.specs[spec], space)
        self.change(6, block, spec, label, time)
        self.live[space, address] = block
        self.in_use[space] = self.in_use.get(space, 0) + size
        if self.in_use[space] > self.peaks.get(space, 0):
            self.peaks[space] = self.in_use[space]
            if self.keeps_peaks:
                self.at_peak[space] = [of for of in self.live.values() if of.space == space]

    def give(
        self, address: int, *, line: int = 10, space: int = 0, time: int | None = None
    ) -> None:
        """Gives a block back."""
        block = self.live.pop((space, address))
        freed = Block(address, block.size, self.stack(line), block.logical, space)
        self.change(7, freed, 1, 0, time)
        self.in_use[space] -= block.size

    def places(self) -> list[int]:
        """How far each memory is."""
        made = [len(self.sequences)]
        for space, sequence in self.sequences.items():
            made += [space, sequence]
        return made

    def mark(self, name: str) -> None:
        """A mark."""
        self.time += 1000
        self.put(16, name, self.stack(10), 7, self.time, *self.places())

    def write(self, path: Path) -> Path:
        """The file."""
        path.write_bytes(self.out)
        return path


def by_line(scene: Scene, blocks: list[Block]) -> dict[str, tuple[int, int]]:
    """Bytes and blocks of each line."""
    made: dict[str, tuple[int, int]] = {}
    for block in blocks:
        size, count = made.get(scene.lines[block.stack], (0, 0))
        made[scene.lines[block.stack]] = (size + block.size, count + 1)
    return made


def everything() -> Scene:
    """Each kind of record, on two devices and the host, with names that would break a page."""
    scene = Scene()
    scene.start(devices=2, capacity=1 << 20)
    scene.array(1, 100, 100)
    scene.array(2, 1, 1)
    scene.line(10, "load", 12)
    scene.line(11, "leak", 34)
    scene.line(12, EVIL, 56, '/home/user/it\'s "here"/<b>.py')
    scene.put(
        10, 1, "temporaries of jit_step: largest f32[100,100] stablehlo.dot_general at train.py:7"
    )
    scene.put(10, 2, f"result 0 of jit_{EVIL}")
    scene.take(0, 53248, line=10)
    scene.mark("warm")
    for step in range(6):
        scene.take(65536 + step * 8192, 4096, line=11, spec=2)
        scene.take(262144, 131072, line=12, label=1, space=step % 2)
        scene.take(0, 512, space=2, line=12, label=2, spec=2) if step == 0 else None
        scene.give(262144, line=12, space=step % 2)
    scene.mark(EVIL)
    # The largest hole is behind the last block.
    end = 65536 + 5 * 8192 + 4096
    free = (1 << 20) - scene.in_use[0]
    largest = (1 << 20) - end
    sequence = scene.sequences[0]
    scene.time += 1000
    holes = (largest, free - largest)
    scene.put(
        18, 0, sequence, scene.time, 1 << 20, scene.in_use[0], free, largest, 7, 1, end, largest
    )
    scene.put(8, 0, 0, 0, 1 << 20, 1, scene.stack(11), 7, scene.time, ENTRY, 0)
    assert min(holes) > 0
    slots = [
        (
            0,
            4096,
            4000,
            0,
            2,
            "f32",
            2,
            10,
            100,
            "{1,0:T(8,128)}",
            "stablehlo.dot_general",
            "/home/user/train.py:7",
        ),
        (4096, 8192, 8192, 1, 3, "f32", 1, 2048, "{0}", "stablehlo.tanh", "/home/user/train.py:8"),
        (0, 2048, 2048, 4, 5, "f32", 1, 512, "{0}", EVIL, EVIL),
    ]
    flat = [value for slot in slots for value in slot]
    scene.put(17, 1, "jit_step", 12288, 64, 53248, 4096, len(slots), *flat, 6)
    for run in range(1, 41):
        begun = scene.time + 10 * run
        ended = begun + 5010 * run
        status = 8 if run == 40 else 0
        scene.put(20, 1, run, 0, 7, scene.stack(10), begun - 10, begun, ended, status)
    slot = (0, 4096, 4096, 0, 1, "f32", 1, 1024, "{0}", EVIL, "/home/user/train.py:5")
    scene.put(17, 2, f"jit_{EVIL}", 4096, 0, 64, 4096, 1, *slot, 2, 9 << 30)
    refused = (2, scene.stack(10), 7, scene.time, "PJRT_Client_Compile", 1 << 30, "t.py:9", 1, 0)
    scene.put(21, *refused, 2, "a larger chip: v6e", EVIL)
    scene.put(14, ENTRY, scene.stack(10), 7, 1_000_000, 13, 26_000, 106_496, 1)
    dispatch = (0, 3, 1, "my_target", "jit_step", "train.py:9", 0, 0, 0, "", scene.stack(10), 7)
    scene.put(11, *dispatch, scene.time, ENTRY, 500, 0, EVIL)
    scene.put(12, f"no live block of TPU_0 {EVIL}", scene.stack(10), 7, scene.time, ENTRY)
    scene.time += 1000
    scene.put(19, scene.time, 7, scene.stack(10), *scene.places(), "Py_FinalizeEx")
    for space, address in scene.live:
        scene.put(22, space, address, f"__main__.kept[{address}] {EVIL}")
    return scene


def clean_up(scene: Scene) -> Scene:
    """Gives everything back."""
    for space, address in list(scene.live):
        scene.give(address, space=space)
    return scene


def many(events: int, seed: int = 1, stacks: int = 200) -> Scene:
    """A program with sizes and lifetimes that follow no pattern."""
    draw = random.Random(seed)  # noqa: S311
    scene = Scene(keeps_peaks=False)
    scene.start(capacity=16 << 30)
    for spec in range(1, 201):
        scene.array(spec, draw.randrange(1, 500), draw.randrange(1, 900))
    for line in range(10, 10 + stacks):
        scene.line(line, f"f{line}", line)
    for label in range(1, 101):
        scene.put(
            10, label, f"result {label} of jit_f{label % 7}: stablehlo.add at train.py:{label}"
        )
    free = list(range(20_000))
    draw.shuffle(free)
    taken: list[int] = []
    while scene.changes < events:
        if free and (len(taken) < 2000 or draw.random() < 0.5):
            place = free.pop()
            taken.append(place)
            time = scene.time + draw.randrange(200, 5000)
            size = 512 * draw.randrange(1, 1600)
            line, spec = 10 + draw.randrange(stacks), draw.randrange(1, 201)
            scene.take(
                place * 819_200, size, line=line, spec=spec, label=draw.randrange(101), time=time
            )
        else:
            at = draw.randrange(len(taken))
            taken[at], taken[-1] = taken[-1], taken[at]
            place = taken.pop()
            free.append(place)
            line = 10 + draw.randrange(stacks)
            scene.give(place * 819_200, line=line, time=scene.time + draw.randrange(200, 5000))
    return scene


def many_stacks(count: int = 100_000) -> Scene:
    """As many stacks as blocks, each with a line of its own."""
    scene = Scene(keeps_peaks=False)
    scene.start(capacity=16 << 30)
    scene.array(1, 8, 128)
    for line in range(10, 10 + count):
        scene.line(line, f"f{line % 977}", line)
        scene.take((line - 10) * 4096, 4096, line=line)
    return scene


def many_devices(count: int = 256) -> Scene:
    """Each device takes a little more than the one before."""
    scene = Scene(keeps_peaks=False)
    scene.start(devices=count)
    scene.array(1, 8, 128)
    scene.line(10, "spread", 3)
    for device in range(count):
        scene.take(0, 4096 * (device + 1), space=device)
    for device in range(count):
        scene.take(1 << 24, 4096, space=device)
        scene.give(1 << 24, space=device)
    return scene
