//! Lets what is linked ask for no function of glibc that is newer than 2.28.
//!
//! A linker binds each reference to the newest version that the build machine's glibc has, in the
//! standard library's code too. Here `--wrap` sends the references of a library or a program to
//! jumps, which ask for the oldest version by name, and `jumps.rs` beside this has what 2.28 has
//! not at all. A build script calls [`bind`]; what is linked has `jumps.rs` as a module.
#![expect(clippy::disallowed_methods, reason = "cargo says by the environment what is built")]
#![expect(clippy::print_stdout, reason = "so a build script talks to cargo")]
use std::path::PathBuf;
use std::{env, fs, io};

/// What stands for a function of today's glibc.
enum Instead {
    /// The function of the version that x86-64 began with, or a later one that is given; it does
    /// the same.
    Oldest(Option<&'static str>),
    /// One of `jumps.rs`.
    Ours,
    /// One of `jumps.rs`, which calls the oldest.
    OursOverOldest,
    /// None: the standard library asks whether there is one.
    Nothing,
}

use Instead::{Nothing, Oldest, Ours, OursOverOldest};

/// Every function that the library can refer to and that got a version after 2.28.
const FUNCTIONS: &[(&str, Instead)] = &[
    // 2.29: the wrappers that set errno went away.
    ("exp", Oldest(None)),
    ("exp2", Oldest(None)),
    ("log", OursOverOldest),
    ("log2", OursOverOldest),
    ("pow", Oldest(None)),
    ("posix_spawn_file_actions_addchdir_np", Nothing),
    // 2.30
    ("gettid", Ours),
    // 2.32
    ("pthread_getattr_np", Oldest(None)),
    ("pthread_sigmask", Oldest(None)),
    // 2.33: they were inlined before.
    ("fstat", Ours),
    ("fstat64", Ours),
    ("fstatat64", Ours),
    ("lstat64", Ours),
    ("stat64", Ours),
    // 2.34: libpthread and libdl became a part of libc.
    // A program begins there. The older one calls what the program gives it for that, which is
    // nothing in a program linked today, so that what runs before `main` in C must not be needed.
    ("__libc_start_main", Oldest(None)),
    ("dladdr", Oldest(None)),
    ("dladdr1", Oldest(Some("2.3.3"))),
    ("dlclose", Oldest(None)),
    ("dlerror", Oldest(None)),
    ("dlopen", Oldest(None)),
    ("dlsym", Oldest(None)),
    ("pthread_attr_getguardsize", Oldest(None)),
    ("pthread_attr_getstack", Oldest(None)),
    ("pthread_attr_setguardsize", Oldest(None)),
    ("pthread_attr_setstacksize", Oldest(None)),
    ("pthread_create", Oldest(None)),
    ("pthread_detach", Oldest(None)),
    ("pthread_join", Oldest(None)),
    ("pthread_key_create", Oldest(None)),
    ("pthread_key_delete", Oldest(None)),
    ("pthread_kill", Oldest(None)),
    ("pthread_setname_np", Oldest(Some("2.12"))),
    ("pthread_setspecific", Oldest(None)),
    // 2.35
    ("hypot", Oldest(None)),
    ("hypotf", Oldest(None)),
    // 2.39
    ("pidfd_getpid", Nothing),
    ("pidfd_spawnp", Nothing),
    // 2.43
    ("acosf", Oldest(None)),
    ("asinf", Oldest(None)),
    ("atan2f", Oldest(None)),
    ("coshf", Oldest(None)),
    ("lgammaf_r", Oldest(None)),
    ("sinhf", Oldest(None)),
    ("tgammaf", Oldest(None)),
];

/// The libraries that have these functions in 2.28. Later ones have them too, empty.
const LIBRARIES: [&str; 2] = ["libpthread.so.0", "libdl.so.2"];

/// How an architecture jumps to a function of another library, and the version that it began with.
struct Architecture {
    name: &'static str,
    jump: &'static str,
    oldest: &'static str,
    /// Whether it is older than functions that came later, which have a version of their own.
    is_first: bool,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "x86_64",
        jump: "jmp qword ptr [rip + SYMBOL@GOTPCREL]",
        oldest: "2.2.5",
        is_first: true,
    },
    Architecture {
        name: "aarch64",
        jump: "adrp x16, :got:SYMBOL\n ldr x16, [x16, :got_lo12:SYMBOL]\n br x16",
        oldest: "2.17",
        is_first: false,
    },
];

/// What is linked: cargo has a list of arguments for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// A library with a C interface.
    Library,
    /// Programs.
    Programs,
}

/// Binds what the calling package links; the whole of its build script.
///
/// # Errors
/// Where the jumps cannot be written to the folder that cargo names.
pub fn bind(linked: Linked) -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(versions_of_glibc)");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_glibc = (of_target("OS").as_str(), of_target("ENV").as_str()) == ("linux", "gnu");
    let known = ARCHITECTURES.iter().find(|known| known.name == of_target("ARCH"));
    let Some(architecture) = known.filter(|_| is_glibc) else { return Ok(()) };

    println!("cargo::rustc-cfg=versions_of_glibc");
    let file = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("glibc.s");
    fs::write(file, jumps(architecture))?;
    let kind = match linked {
        Linked::Library => "cdylib",
        Linked::Programs => "bins",
    };
    let flag = |flag: &str| println!("cargo::rustc-link-arg-{kind}={flag}");
    for (name, instead) in FUNCTIONS {
        match instead {
            Oldest(_) | Ours | OursOverOldest => flag(&format!("-Wl,--wrap={name}")),
            Nothing => flag(&format!("-Wl,--defsym={name}=0")),
        }
    }
    flag("-Wl,--push-state,--no-as-needed");
    LIBRARIES.iter().for_each(|library| flag(&format!("-l:{library}")));
    flag("-Wl,--pop-state");
    Ok(())
}

/// The jumps: `__wrap_NAME` where the oldest version does, `__oldest_NAME` for what wraps it.
fn jumps(architecture: &Architecture) -> String {
    let mut text = String::new();
    for (name, instead) in FUNCTIONS {
        let (label, later) = match instead {
            Oldest(later) => (format!("__wrap_{name}"), *later),
            OursOverOldest => (format!("__oldest_{name}"), None),
            Ours | Nothing => continue,
        };
        let version = later.filter(|_| architecture.is_first).unwrap_or(architecture.oldest);
        let symbol = format!("__versioned_{name}");
        let jump = architecture.jump.replace("SYMBOL", &symbol);
        text += &format!(
            ".symver {symbol}, {name}@GLIBC_{version}\n\
             .pushsection .text.{label}, \"ax\", %progbits\n\
             .globl {label}\n.hidden {label}\n.type {label}, %function\n\
             {label}:\n {jump}\n.size {label}, . - {label}\n\
             .popsection\n"
        );
    }
    text
}
