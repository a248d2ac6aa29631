//! The trace files of a program and of those that it starts.
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where the processes of a run write their traces: each to a file of its own.
///
/// The file's name is kept locked, so that every process adds its number to it; of two that run one
/// after the other, the second would else empty the trace of the first.
#[derive(Debug)]
pub(crate) struct Traces {
    /// As the user calls it; in a folder of ours where nobody asked for it.
    pub(crate) file: PathBuf,
    /// A folder that goes with the run.
    own_folder: Option<PathBuf>,
    /// Held to the end.
    _lock: File,
    /// Whether the file was there before.
    was_there: bool,
    /// Files of earlier runs, and when they were written.
    before: BTreeMap<PathBuf, Option<SystemTime>>,
}

impl Traces {
    /// Takes the name for the traces of a run.
    ///
    /// # Errors
    /// Where the file cannot be made, or is none that a trace can be read back from.
    pub(crate) fn begin(asked: Option<&Path>) -> io::Result<Self> {
        let own_folder = match asked {
            Some(_) => None,
            None => Some(own_folder()?),
        };
        let file = match (asked, &own_folder) {
            (Some(asked), _) => std::path::absolute(asked)?,
            (None, folder) => folder.clone().unwrap_or_default().join("run.trace"),
        };
        let was_there = file.exists();
        if was_there && !file.is_file() {
            return Err(io::Error::other("no regular file"));
        }
        let lock = OpenOptions::new().append(true).create(true).open(&file)?;
        lock.try_lock().map_err(|why| match why {
            fs::TryLockError::WouldBlock => io::Error::other("another run writes to it"),
            fs::TryLockError::Error(why) => why,
        })?;
        let before = numbered(&file).into_iter().map(|(_, path)| (path.clone(), written(&path)));
        let before = before.collect();
        Ok(Self { file, own_folder, _lock: lock, was_there, before })
    }

    /// The traces of a run that has ended: that of the process `main` first, which then has the
    /// plain name, or without it the largest.
    ///
    /// # Errors
    /// Where files cannot be listed or renamed.
    pub(crate) fn collect(&self, main: u32) -> io::Result<Vec<PathBuf>> {
        let mut found = numbered(&self.file);
        found.retain(|(_, path)| self.before.get(path).is_none_or(|at| *at != written(path)));
        let length = |path: &Path| fs::metadata(path).map_or(0, |of| of.len());
        found.sort_by_key(|(process, path)| {
            (*process != main, std::cmp::Reverse(length(path)), *process)
        });
        let mut paths: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
        match paths.first_mut() {
            Some(first) => {
                fs::rename(&*first, &self.file)?;
                *first = self.file.clone();
            }
            None if !self.was_there => fs::remove_file(&self.file)?,
            None => {}
        }
        Ok(paths)
    }

    /// Whether the traces stay when the run is over.
    pub(crate) fn are_kept(&self) -> bool {
        self.own_folder.is_none()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(folder) = &self.own_folder {
            // The system clears that place too.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// A folder of this process alone.
fn own_folder() -> io::Result<PathBuf> {
    let root = std::env::temp_dir();
    for attempt in 0_u32..1000 {
        let folder = root.join(format!("tpu-emu-run-{}-{attempt}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other(format!("{}: no name is free", root.display())))
}

/// The files that are called as this one, with the number of a process behind it.
fn numbered(file: &Path) -> Vec<(u32, PathBuf)> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return Vec::new() };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let other = entry.file_name();
            let rest = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes())?;
            let process = std::str::from_utf8(rest.strip_prefix(b".")?).ok()?.parse().ok()?;
            Some((process, entry.path()))
        })
        .collect();
    found.sort();
    found
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|of| of.modified()).ok()
}
