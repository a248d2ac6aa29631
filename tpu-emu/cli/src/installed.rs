//! The Python and the library that belong to this command.
use crate::environment;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name that a build gives the library.
const LIBRARY: &str = "libpjrt_tpu_emu.so";

/// The Python that programs are run with: the one that is asked for, the one beside this command,
/// that of the active virtual environment, or the first on the path.
pub(crate) fn python(asked: Option<&Path>) -> PathBuf {
    if let Some(asked) = asked {
        return asked.to_owned();
    }
    let environment = environment::variable("VIRTUAL_ENV").map(|root| Path::new(&root).join("bin"));
    let folders = beside().into_iter().chain(environment);
    let named = folders.flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let found = named.into_iter().find(|file| file.is_file());
    found.or_else(|| on_path("python3")).or_else(|| on_path("python")).unwrap_or("python3".into())
}

/// The first program of a name on the path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = environment::variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The library: the one that `TPU_EMU_LIBRARY` names, one beside this command, that of the package
/// `tpu-emu` beside it, the one that `TPU_LIBRARY_PATH` names, or that of the Python's package.
///
/// # Errors
/// A sentence that says where it was looked for.
pub(crate) fn library(python: &Path) -> Result<PathBuf, String> {
    if let Some(named) = environment::variable("TPU_EMU_LIBRARY") {
        let named = PathBuf::from(named);
        return match named.is_file() {
            true => Ok(absolute(named)),
            false => Err(format!("TPU_EMU_LIBRARY={} is no file", named.display())),
        };
    }
    let ours = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.contains("pjrt_tpu_emu") && file.is_file()
    };
    let mut looked: Vec<PathBuf> = Vec::new();
    if let Some(folder) = beside() {
        looked.push(folder.join(LIBRARY));
        looked.extend(packages(&folder.join("../lib")));
    }
    looked.extend(environment::variable("TPU_LIBRARY_PATH").map(PathBuf::from));
    if let Some(found) = looked.iter().find(|file| ours(file)) {
        return Ok(absolute(found.clone()));
    }
    if let Some(found) = of_package(python) {
        return Ok(found);
    }
    let places: Vec<String> = looked.iter().map(|file| file.display().to_string()).collect();
    Err(format!(
        "there is no {LIBRARY}: TPU_EMU_LIBRARY is not set, {} has no package tpu_emu with one, \
         and it is none of: {}",
        python.display(),
        places.join(", ")
    ))
}

/// Whether a library reads a variable: its name stands in the file.
///
/// # Errors
/// Where the file cannot be read.
pub(crate) fn knows(library: &Path, variable: &str) -> io::Result<bool> {
    let (first, rest) = variable.as_bytes().split_at(1);
    let bytes = fs::read(library)?;
    let mut from = &bytes[..];
    while let Some(at) = from.iter().position(|byte| *byte == first[0]) {
        from = &from[at + 1..];
        if from.starts_with(rest) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folder of this command.
fn beside() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.to_owned())
}

/// The library in packages `tpu_emu` of all Pythons under a folder `lib`.
fn packages(lib: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        entries.map(|python| python.join("site-packages/tpu_emu").join(LIBRARY)).collect();
    found.retain(|file| file.is_file());
    found.sort();
    found
}

/// What the package of a Python names.
fn of_package(python: &Path) -> Option<PathBuf> {
    let program = "import tpu_emu; print(tpu_emu.library_path(), end='')";
    let mut asked = Command::new(python);
    asked.args(["-c", program]).stdin(Stdio::null()).stderr(Stdio::null());
    let answer = asked.output().ok().filter(|done| done.status.success())?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?);
    path.is_file().then_some(path)
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// What `JAX_PLATFORMS` must be for the emulated TPU: as it is where that names one, else the TPU
/// with the processor beside it, which callbacks run on.
pub(crate) fn platforms() -> OsString {
    let given = environment::text("JAX_PLATFORMS").unwrap_or_default();
    match given.split(',').any(|name| name.trim() == "tpu") {
        true => given.into(),
        false => "tpu,cpu".into(),
    }
}
