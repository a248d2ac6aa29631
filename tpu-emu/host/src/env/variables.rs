//! The rows that `docs/environment.md` is made of.
use super::Settings;
use crate::calls::CallMode;
use crate::stack::{StackMode, Unwinder};
use std::num::NonZeroUsize;
use std::time::Duration;
use tpu_emu::kernels::simd::Level;
use tpu_emu::ops::Numerics;
use tpu_emu::pallas::CopyOrder;
use tpu_emu::topology::{Topology, hbm_size};

/// One variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub values: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub effect: &'static str,
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// All variables, in the order of the page.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "TPU_EMU_TOPOLOGY",
        values: "`FAMILY:XxY[xZ]`, or a type as `v5p-256`, then options after commas, as \
                 `v5e:4x4,chips_per_host_bounds=2x4x1,num_slices=2`",
        default: "`v5e:2x4,chips_per_host_bounds=2x4x1`, or what variables of TPU users say",
        effect: "The chips, and how they are spread over hosts and slices, as the real library \
                 reads the same name and options. One process has all of them, unless something \
                 says that there are others: `TPU_EMU_PROCESS_INDEX`, a variable of TPU users, \
                 `jax.distributed.initialize`.",
        set: |settings, value| {
            let topology = Topology::parse(value).map_err(|error| error.to_string())?;
            settings.topology = Some(topology);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_PROCESS_INDEX",
        values: "a number from 0",
        default: "one process has all hosts and slices",
        effect: "Which host of the topology this process plays, counted over all slices; the \
                 others have processes of their own then.",
        set: |settings, value| {
            let index = value.parse().ok().filter(|index| *index >= 0);
            settings.process_index = Some(index.ok_or_else(|| "a number from 0".to_owned())?);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_HBM_BYTES",
        values: "bytes, with a unit if you like: `2GiB`, `512MiB`, `1000000`",
        default: "what the real chip leaves to programs",
        effect: "The HBM that programs can use on each device.",
        set: |settings, value| {
            settings.hbm = Some(hbm_size(value)?);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_NUMERICS",
        values: "`tpu` or `ieee`",
        default: "`tpu`",
        effect: "How matrix products round, and what becomes of floats that are too small to be \
                 normal: as on the chip (at default precision operands of f32 are rounded to bf16 \
                 and products are summed in f32; subnormal numbers of 32 and 64 bits are zeros), \
                 or as IEEE 754 has it in the types that the program states.",
        set: |settings, value| {
            settings.numerics = match value {
                "tpu" => Numerics::Tpu,
                "ieee" => Numerics::Ieee,
                _ => return Err("tpu or ieee".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_THREADS",
        values: "a number from 1 to 1024",
        default: "one a core",
        effect: "How many threads large steps of programs are split over. Results do not depend \
                 on it.",
        set: |settings, value| {
            let threads = value.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= 1024);
            let threads = threads.ok_or_else(|| "a number from 1 to 1024".to_owned())?;
            settings.threads = Some(threads);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_SIMD",
        values: "`avx512`, `avx2` or `portable`",
        default: "`avx512`",
        effect: "The widest vectors that programs' loops use, where the processor has them. Loops \
                 become machine code with `avx512` and `avx2`. Results do not depend \
                 on it between `avx512` and `avx2`; with `portable`, sums of products of floats are \
                 rounded twice for each term, and their last bits are others. The libraries `gemm` \
                 and `rustfft` choose their vectors themselves. With `avx512`, products of integers of \
                 8 bits use VNNI and AMX too, for which the process asks Linux at the first of them.",
        set: |settings, value| {
            settings.vectors = match value {
                "avx512" => Level::Avx512,
                "avx2" => Level::Avx2,
                "portable" => Level::Portable,
                _ => return Err("avx512, avx2 or portable".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_STACKS",
        values: "`full`, `native`, `python` or `off`",
        default: "`full`",
        effect: "Which frames are recorded with each allocation and each free.",
        set: |settings, value| {
            settings.stacks = match value {
                "full" => StackMode::Full,
                "native" => StackMode::Native,
                "python" => StackMode::Python,
                "off" => StackMode::Off,
                _ => return Err("full, native, python or off".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_UNWINDER",
        values: "`compiled` or `backtrace`",
        default: "`compiled`, and `backtrace` where nothing is compiled: not on x86-64",
        effect: "Who walks native stacks: rules of unwinding that are compiled once for each \
                 address, or the `backtrace` crate over the system's unwinder. Both find the same \
                 frames; the second is slower.",
        set: |settings, value| {
            let unwinder = match value {
                "compiled" => Unwinder::Compiled,
                "backtrace" => Unwinder::Backtrace,
                _ => return Err("compiled or backtrace".to_owned()),
            };
            if !Unwinder::all().contains(&unwinder) {
                return Err("backtrace; nothing is compiled for this architecture".to_owned());
            }
            settings.unwinder = unwinder;
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_TRACE",
        values: "a file, or `-`",
        default: "no trace",
        effect: "Writes every allocation, free and refusal, with its stack, to a file of records \
                 (docs/trace-format.md), or with `-` as text to standard error. A second process \
                 with the same file writes one with its process id at the end of the name.",
        set: |settings, value| {
            if value.is_empty() {
                return Err("a file name, or -".to_owned());
            }
            settings.trace = Some(value.to_owned());
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_CALLS",
        values: "`off`, `counts`, `stacks` or `each`",
        default: "`stacks`",
        effect: "What a trace in a file has of the calls of API functions: nothing, how often each \
                 was called, how often from which stack, or that and every single call. A function \
                 that shows no new stack for a while has its stack taken less often; how often it \
                 was called is exact all the same.",
        set: |settings, value| {
            settings.calls = match value {
                "off" => CallMode::Off,
                "counts" => CallMode::Counts,
                "stacks" => CallMode::Stacks,
                "each" => CallMode::Each,
                _ => return Err("off, counts, stacks or each".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_METRICS",
        values: "a port, `8431` for `tpu-info`",
        default: "no service",
        effect: "Serves how full each device's HBM is and how busy the devices are, as a TPU's \
                 runtime does, to programs of this machine (docs/command.md). Where the port \
                 cannot be had, because another process has it or it is none, a line on standard \
                 error says so and the program goes on.",
        set: |settings, value| {
            settings.metrics = Some(value.to_owned());
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_HISTORY",
        values: "a number of changes",
        default: "`65536`",
        effect: "How many past changes the process keeps in memory; 64 bytes each.",
        set: |settings, value| {
            settings.history = value.parse().map_err(|_| "a number from 0".to_owned())?;
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_POISON",
        values: "`1` or `0`",
        default: "`0`",
        effect: "Fills memory of the devices with bytes of 0xff when it is taken and when it is \
                 given back, so that what reads it before anybody has written it, or after it was \
                 freed, shows: as nan in floating-point types, as -1 or the largest number in \
                 integers. Freed memory stays with the process then.",
        set: |settings, value| {
            settings.poison = match value {
                "1" => true,
                "0" => false,
                _ => return Err("1 or 0".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_PALLAS_DMA",
        values: "`late`, `early` or `random:SEED`",
        default: "`late`",
        effect: "When copies that run beside Pallas kernels are done: when somebody waits for \
                 them, so that a kernel which forgets to wait reads what was there before; at \
                 once; or some time between, the same for the same seed.",
        set: |settings, value| {
            settings.pallas.order = match value.strip_prefix("random:") {
                Some(seed) => {
                    let seed = seed.parse().map_err(|_| "random: and a number from 0".to_owned());
                    CopyOrder::Random(seed?)
                }
                None if value == "late" => CopyOrder::Late,
                None if value == "early" => CopyOrder::Early,
                None => return Err("late, early or random:SEED".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_PALLAS_CHECK",
        values: "`uninit`, `races`, `bounds`, `deadlock`, several after commas",
        default: "`bounds,deadlock`, which are always on",
        effect: "What Pallas kernels are watched for: results that depend on memory that nobody \
                 has written (a kernel that has read such memory is run once more with other \
                 numbers there), and accesses to one memory that no semaphore orders.",
        set: |settings, value| {
            for check in value.split(',').map(str::trim) {
                match check {
                    "uninit" => settings.pallas.checks.uninit = true,
                    "races" => settings.pallas.checks.races = true,
                    "bounds" | "deadlock" => {}
                    _ => return Err("uninit, races, bounds or deadlock".to_owned()),
                }
            }
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_FFI",
        values: "`NAME=path/to/lib.so:SYMBOL` or `path/to/lib.so`, several after commas",
        default: "no libraries",
        effect: "Loads custom call handlers (docs/custom-calls.md): a function of a library under \
                 the name that programs call, or a library that registers its handlers itself \
                 when it is loaded.",
        set: |settings, value| {
            settings.handler_libraries =
                value.split(',').map(str::parse).collect::<Result<_, String>>()?;
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_FFI_TIMEOUT",
        values: "seconds, from 1 to 86400",
        default: "`60`",
        effect: "How long a launch waits for a custom call that goes on after its handler has \
                 returned, and a call for one device of a run for the calls for the others; then \
                 the launch fails.",
        set: |settings, value| {
            let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
            let seconds = seconds.ok_or_else(|| "seconds, from 1 to 86400".to_owned())?;
            settings.call_timeout = Duration::from_secs(seconds);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_TRANSPORT",
        values: "`shared_memory`, `mpi` or `mpi:path/to/libmpi_abi.so`",
        default: "`shared_memory`",
        effect: "What carries messages between the processes of a slice: shared memory, where all \
                 are on one machine, or a library with the standard ABI of MPI 5, whose `mpiexec` \
                 has started them.",
        set: |settings, value| {
            settings.transport = value.parse()?;
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_HOSTS_TIMEOUT",
        values: "seconds, from 1 to 86400",
        default: "`300`",
        effect: "How long a process waits for the others of its slice: until they have joined, \
                 until they have launched a program that it has launched, and until one that runs \
                 a program answers at all.",
        set: |settings, value| {
            let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
            let seconds = seconds.ok_or_else(|| "seconds, from 1 to 86400".to_owned())?;
            settings.hosts_timeout = Duration::from_secs(seconds);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_COMPILER",
        values: "`libtpu` for the package that is installed beside JAX, or a path to a \
                 `libtpu.so` or to its folder",
        default: "programs are planned by tpu-emu alone",
        effect: "Shows each program to Google's `libtpu` too, which compiles it ahead of time for \
                 the emulated topology in a process of its own. Memory analysis, cost analysis, \
                 `as_text()`, refusals and what a run is charged for its temporaries are \
                 libtpu's then (docs/real-compiler.md). Where it has no answer, a line on \
                 standard error says so and the plan of tpu-emu stands.",
        set: |settings, value| {
            if value.is_empty() {
                return Err("libtpu, or a path to a libtpu.so".to_owned());
            }
            settings.compiler = Some(value.to_owned());
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_COMPILER_CACHE",
        values: "a folder",
        default: "`tpu-emu/libtpu` in `XDG_CACHE_HOME`, or in `~/.cache`",
        effect: "Where libtpu's answers are kept, by program, options, topology and libtpu's \
                 build. Several processes may share it; above 1 GiB the oldest answers go.",
        set: |settings, value| {
            if value.is_empty() {
                return Err("a folder".to_owned());
            }
            settings.compiler_cache = Some(value.into());
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_COMPILER_TIMEOUT",
        values: "seconds, from 1 to 86400",
        default: "`600`",
        effect: "How long libtpu may take for one program; then its process is ended and the \
                 plan of tpu-emu stands.",
        set: |settings, value| {
            let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
            let seconds = seconds.ok_or_else(|| "seconds, from 1 to 86400".to_owned())?;
            settings.compiler_limit = Duration::from_secs(seconds);
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_LIBTPU_ABI",
        values: "`jaxlib-0.4.13`, or `tf-` and one of `2.7`, `2.13`, `2.14`, `2.15`, `2.16`, \
                 `2.18`, `2.19`, `2.20`",
        default: "what the calling library's package and version say",
        effect: "The version of the libtpu C API (`TpuExecutor_*`) that the client speaks: the \
                 structs have other layouts in each, and no call says which.",
        set: |settings, value| {
            settings.asked_dialect = Some(value.to_owned());
            Ok(())
        },
    },
    Variable {
        name: "TPU_EMU_LOG",
        values: "a level, as `debug`, or targets with levels, as `warn,tpu_emu=trace`",
        default: "no log",
        effect: "Logs what the library does to standard error; with `debug`, every call of either \
                 C API with the time that it took, and why it failed.",
        set: |settings, value| {
            let refused =
                |error| format!("{value:?} is neither a level nor targets with levels: {error}");
            settings.log = Some(value.parse().map_err(refused)?);
            Ok(())
        },
    },
];
