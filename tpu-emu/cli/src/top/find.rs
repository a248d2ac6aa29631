//! The trace that a process writes.
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tpu_trace::MAGIC;

/// A trace, and who writes it.
#[derive(Debug)]
pub(super) struct Found {
    /// What is opened.
    pub(super) file: PathBuf,
    /// What the file is called.
    pub(super) name: String,
    pub(super) process: Option<u32>,
}

/// The trace of a file, of a process or of its children, or of the only process that writes one.
///
/// # Errors
/// A sentence, where there is none, or more than one.
pub(super) fn trace(asked: Option<&OsStr>) -> Result<Found, String> {
    match asked {
        Some(text) => match text.to_string_lossy().parse::<u32>() {
            // A file may be called by a number.
            Ok(process) if !Path::new(text).exists() => {
                if !Path::new(&format!("/proc/{process}")).exists() {
                    return Err(format!("there is no process {process}"));
                }
                one(family(process), &format!("process {process} writes no trace"))
            }
            _ => Ok(Found {
                file: text.into(),
                name: text.to_string_lossy().into_owned(),
                process: None,
            }),
        },
        None => one(processes(), "no process writes a trace"),
    }
}

/// The one trace of some processes.
fn one(processes: Vec<u32>, none: &str) -> Result<Found, String> {
    let mut found: Vec<Found> = processes.into_iter().filter_map(of_process).collect();
    match found.len() {
        0 => Err(format!(
            "{none}: start it by `tpu-emu run`, or with TPU_EMU_TRACE=FILE (of a process of \
             another user nothing can be seen)"
        )),
        1 => Ok(found.remove(0)),
        _ => {
            let named = found
                .iter()
                .map(|found| format!("{} ({})", found.process.unwrap_or_default(), found.name));
            let named: Vec<String> = named.collect();
            Err(format!("several processes write traces, name one: {}", named.join(", ")))
        }
    }
}

/// A process and those below it.
fn family(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut next = 0;
    while let Some(&process) = all.get(next) {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        next += 1;
    }
    all
}

/// All processes.
fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut processes: Vec<u32> = numbers.collect();
    processes.sort_unstable();
    processes
}

/// The trace that a process has open for writing, or mapped.
fn of_process(process: u32) -> Option<Found> {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let open = open.map(|entry| entry.path()).filter(|link| is_written(process, link));
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let mapped = maps.lines().filter_map(|line| {
        // Address, rights, offset, device, inode, path; a path may hold spaces.
        let mut fields = line.splitn(6, ' ');
        let rights = fields.nth(1)?;
        let path = fields.nth(3)?.trim_start();
        (rights.starts_with("rw-s") && path.starts_with('/')).then(|| PathBuf::from(path))
    });
    let file = open.chain(mapped).find(|path| begins_as_a_trace(path))?;
    let name = fs::read_link(&file).unwrap_or_else(|_| file.clone()).display().to_string();
    Some(Found { file, name, process: Some(process) })
}

/// Whether a file of a process is open for writing.
fn is_written(process: u32, link: &Path) -> bool {
    let number = link.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(0);
    // O_WRONLY and O_RDWR; what is no file would keep a reader waiting.
    flags & 0b11 != 0 && fs::metadata(link).is_ok_and(|of| of.is_file())
}

fn begins_as_a_trace(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|of| of.is_file());
    is_file
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == MAGIC
}
