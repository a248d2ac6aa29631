//! What is looked at, in the order in which one thing needs another.
use super::{Finding, NEWEST, OLDEST, is_too_old, numbers, python};
use crate::text::bytes;
use crate::{environment, installed};
use std::fs;
use std::path::Path;

/// The number that PCI gives to the maker of TPUs.
const VENDOR: &str = "0x1ae0";
/// The oldest Python that is tested.
const OLDEST_PYTHON: [u64; 2] = [3, 11];

/// All findings.
pub(super) fn all(asked: Option<&Path>) -> Vec<Finding> {
    let program = installed::python(asked);
    let mut findings = vec![system()];
    let about = python::about(&program);
    match &about {
        Ok(about) => {
            findings.push(interpreter(&program, about));
            findings.extend(packages(&program, about));
        }
        Err(why) => findings.push(Finding::bad(
            "Python",
            format!("{}: {why}", program.display()),
            "name another one: tpu-emu doctor --python PROGRAM",
        )),
    }
    let library = installed::library(&program);
    findings.push(match &library {
        Ok(file) => {
            let size = fs::metadata(file).map_or(0, |of| of.len());
            Finding::good("library", format!("{}, {}", file.display(), bytes(size)))
        }
        Err(why) => Finding::bad(
            "library",
            why.clone(),
            format!("{} -m pip install tpu-emu, or in a clone: make build", program.display()),
        ),
    });
    findings.extend(variables(library.as_deref().ok()));
    findings.extend(real_tpu(about.as_ref().ok()));
    findings.push(real_compiler(about.as_ref().ok()));
    findings.extend(address_space());
    let has_jax = about.is_ok_and(|about| about.packages.get("jax").is_some_and(Option::is_some));
    if let (true, Ok(library)) = (has_jax, &library) {
        findings.push(trial(&program, library));
    }
    findings
}

fn system() -> Finding {
    let (os, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let found = format!("{os} on {machine}");
    match (os, machine) {
        ("linux", "x86_64") => Finding::good("system", found),
        ("linux", _) => Finding::doubtful("system", found, "x86-64 is what is tested"),
        _ => Finding::bad("system", found, "Linux is needed"),
    }
}

fn interpreter(program: &Path, about: &python::About) -> Finding {
    let [major, minor, patch] = about.python;
    let found = format!("{major}.{minor}.{patch}, {}", program.display());
    match [major, minor] < OLDEST_PYTHON {
        true => Finding::bad("Python", found, "Python 3.11 or later is needed: python3.11 -m venv"),
        false => Finding::good("Python", found),
    }
}

/// JAX and what belongs to it.
fn packages(program: &Path, about: &python::About) -> Vec<Finding> {
    let pip = |what: &str| format!("{} -m pip install {what}", program.display());
    let version = |name| about.packages.get(name).cloned().flatten();
    let mut findings = Vec::new();
    for name in ["jax", "jaxlib"] {
        findings.push(match version(name) {
            None => Finding::bad(name, "is not installed".to_owned(), pip("jax")),
            Some(version) if is_too_old(&version) => {
                let oldest = OLDEST.map(|number| number.to_string()).join(".");
                Finding::bad(name, format!("{version} is older than {oldest}"), pip("-U jax"))
            }
            Some(version) if numbers(&version).get(..3).is_some_and(|of| of > &NEWEST[..]) => {
                let newest = NEWEST.map(|number| number.to_string()).join(".");
                let found = format!("{version} is newer than {newest}, the newest that is tested");
                Finding::doubtful(name, found, "the program below shows whether it works")
            }
            Some(version) => Finding::good(name, version),
        });
    }
    if let Some(version) = version("tpu-emu") {
        let ours = env!("CARGO_PKG_VERSION");
        findings.push(match version == ours {
            true => Finding::good("tpu-emu", version),
            false => Finding::doubtful(
                "tpu-emu",
                format!("the package is {version}, this command {ours}"),
                pip("-U tpu-emu"),
            ),
        });
    }
    findings
}

/// Variables that decide which TPU a program gets.
fn variables(library: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let platforms = environment::text("JAX_PLATFORMS");
    findings.push(match &platforms {
        Some(names) if names.split(',').any(|name| name.trim() == "tpu") => {
            Finding::good("environment", format!("JAX_PLATFORMS={names}"))
        }
        Some(names) => Finding::doubtful(
            "environment",
            format!("JAX_PLATFORMS={names} names no TPU; `tpu-emu run` sets it for its program"),
            "export JAX_PLATFORMS=tpu,cpu",
        ),
        None => Finding::good(
            "environment",
            "JAX_PLATFORMS is not set; `tpu-emu run` sets it for its program".to_owned(),
        ),
    });
    if let Some(named) = environment::text("TPU_LIBRARY_PATH") {
        let same = |library: &Path| fs::canonicalize(library).ok() == fs::canonicalize(&named).ok();
        let found = format!("TPU_LIBRARY_PATH={named}");
        findings.push(match library {
            Some(library) if same(library) => Finding::good("environment", found),
            _ => Finding::doubtful(
                "environment",
                format!("{found} is another library; `tpu-emu run` overrides it"),
                "unset TPU_LIBRARY_PATH",
            ),
        });
    }
    if let Some(named) = environment::text("PJRT_NAMES_AND_LIBRARY_PATHS")
        && named.split(',').any(|entry| entry.trim_start().starts_with("tpu:"))
    {
        findings.push(Finding::doubtful(
            "environment",
            format!("PJRT_NAMES_AND_LIBRARY_PATHS={named} names a TPU of its own"),
            "unset PJRT_NAMES_AND_LIBRARY_PATHS",
        ));
    }
    findings
}

/// Real TPUs of the machine, and the real library.
fn real_tpu(about: Option<&python::About>) -> Vec<Finding> {
    let mut found = pci_devices();
    found.extend(devices("/dev", "accel"));
    found.extend(devices("/dev/vfio", ""));
    let mut findings = Vec::new();
    findings.push(match found.is_empty() {
        true => Finding::good("real TPU", "none in this machine".to_owned()),
        false => Finding::doubtful(
            "real TPU",
            format!("this machine may have one: {}", found.join(", ")),
            "tpu-emu run SCRIPT leaves it alone; without it programs take the real one",
        ),
    });
    for name in ["libtpu", "libtpu-nightly"] {
        let version = about.and_then(|about| about.packages.get(name).cloned().flatten());
        findings.extend(version.map(|version| {
            Finding::doubtful(
                "real TPU",
                format!("{name} {version} is installed, the library of the real one"),
                "tpu-emu run SCRIPT, or export TPU_LIBRARY_PATH to the library above",
            )
        }));
    }
    findings
}

/// The libtpu that programs are shown to, or could be.
fn real_compiler(about: Option<&python::About>) -> Finding {
    const ABOUT: &str = "real compiler";
    let folders = about.map_or(&[][..], |about| &about.folders);
    let asked = environment::text("TPU_EMU_COMPILER");
    let found = tpu_aot::library(asked.as_deref().unwrap_or("libtpu"), folders).map(|file| {
        let version = tpu_aot::package_version(&file);
        let version = version.map_or_else(String::new, |version| format!("libtpu {version}, "));
        format!("{version}{}", file.display())
    });
    match (asked, found) {
        (Some(asked), Ok(found)) => {
            Finding::good(ABOUT, format!("TPU_EMU_COMPILER={asked}: {found}"))
        }
        (Some(asked), Err(why)) => Finding::doubtful(
            ABOUT,
            format!("TPU_EMU_COMPILER={asked}: {why}"),
            "programs run with the plan of tpu-emu: unset TPU_EMU_COMPILER, or name another one",
        ),
        (None, Ok(found)) => {
            Finding::good(ABOUT, format!("{found}: TPU_EMU_COMPILER=libtpu shows programs to it"))
        }
        (None, Err(_)) => Finding::good(
            ABOUT,
            "none is installed; memory is what tpu-emu plans (docs/real-compiler.md)".to_owned(),
        ),
    }
}

/// PCI entries of TPUs.
fn pci_devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let is_tpu = |path: &Path| {
        fs::read_to_string(path.join("vendor")).is_ok_and(|vendor| vendor.trim() == VENDOR)
    };
    let mut found: Vec<String> = entries
        .filter(|entry| is_tpu(&entry.path()))
        .map(|entry| format!("PCI {}", entry.file_name().to_string_lossy()))
        .collect();
    found.sort();
    found
}

/// Files of a folder whose names are a word and a number.
fn devices(folder: &str, word: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.strip_prefix(word).is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort();
    found
}

/// A limit of address space, of which the HBM of all devices takes its part.
fn address_space() -> Option<Finding> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max address space"))?;
    let soft = line.split_whitespace().nth(3)?;
    let limit = soft.parse().ok()?;
    Some(Finding::doubtful(
        "memory",
        format!("the address space is limited to {}", bytes(limit)),
        "ulimit -v unlimited, or less HBM: tpu-emu run --hbm 1GiB",
    ))
}

fn trial(program: &Path, library: &Path) -> Finding {
    match python::trial(program, library) {
        Ok(python::Trial { kind, devices, version, total: 2048.0, peak }) => {
            let version = version.lines().next().unwrap_or_default().to_owned();
            let peak = bytes(peak);
            let found = format!("a program ran on {devices} x {kind} ({version}), peak {peak}");
            Finding::good("trial", found)
        }
        Ok(python::Trial { total, .. }) => Finding::bad(
            "trial",
            format!("a sum of 2048 came out as {total}"),
            "this is a fault of the library or of JAX: please report it",
        ),
        Err(why) => Finding::bad(
            "trial",
            why,
            format!(
                "see the whole text: TPU_LIBRARY_PATH={} JAX_PLATFORMS=tpu,cpu {} -c 'import \
                     jax; jax.devices()'",
                library.display(),
                program.display()
            ),
        ),
    }
}
