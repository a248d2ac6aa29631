//! Traces by the names of their files.
use crate::progress::Progress;
use crate::text::grouped;
use std::fs::File;
use std::io::Error;
use std::path::{Path, PathBuf};
use tpu_trace::{History, Moment, MomentError, MomentName, ReadError, Trace, read};

/// A file that is no trace.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {why}")]
pub(crate) struct InputError {
    name: String,
    why: Why,
}

/// What is wrong with a file, or with what is asked of it.
#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Moment(#[from] MomentError),
    #[error("{0}")]
    Absent(String),
}

impl InputError {
    /// The command's exit code: 2 where an option names what the file does not have.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.why {
            Why::Read(_) => 1,
            Why::Moment(_) | Why::Absent(_) => 2,
        }
    }
}

/// What a command reads of a file.
#[derive(Debug)]
pub(crate) struct Input {
    /// As the user gave it.
    pub(crate) path: PathBuf,
    /// As people see it.
    pub(crate) name: String,
    pub(crate) trace: Trace,
    pub(crate) history: History,
}

impl Input {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        let name = path.display().to_string();
        let file = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(Error::other("a folder")),
            false => Ok(file),
        });
        let length = file.as_ref().map_or(0, |file| file.metadata().map_or(0, |of| of.len()));
        let progress = Progress::of(&name, length);
        let file = file.map(|file| progress.counting(file));
        let trace = file.map_err(ReadError::from).and_then(read);
        let trace = trace.map_err(|why| InputError { name: name.clone(), why: why.into() })?;
        let history = History::new(&trace);
        Ok(Self { path: path.to_owned(), name, trace, history })
    }

    /// An error of this input.
    pub(crate) fn failed(&self, why: Error) -> InputError {
        InputError { name: self.name.clone(), why: ReadError::from(why).into() }
    }

    /// An error of an option that names what the input does not have.
    pub(crate) fn asked_too_much(&self, why: String) -> InputError {
        InputError { name: self.name.clone(), why: Why::Absent(why) }
    }

    /// The point that a user named.
    pub(crate) fn moment(&self, name: &MomentName) -> Result<Moment, InputError> {
        name.resolve(&self.trace, self.history.refusals.len())
            .map_err(|why| InputError { name: self.name.clone(), why: why.into() })
    }

    /// Why the trace may say less than its process did; empty where it says all.
    pub(crate) fn cut(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(loss) = self.trace.loss {
            let why = match i32::try_from(loss.error) {
                Ok(0) | Err(_) => "another program changed the file".to_owned(),
                Ok(error) => Error::from_raw_os_error(error).to_string(),
            };
            said.push(format!("{} records are missing at the end: {why}", loss.records));
        }
        if self.trace.is_cut {
            said.push(
                "the last record is cut off: the process ended while it wrote, or the file is \
                 damaged there"
                    .to_owned(),
            );
        }
        if let Some((from, to)) = self.trace.damaged {
            said.push(format!(
                "the file is damaged between its bytes {} and {}: what it says may be wrong",
                grouped(from),
                grouped(to)
            ));
        }
        let missing: u64 = self.history.spaces.iter().map(|space| space.missing).sum();
        if missing > 0 {
            said.push(format!("{missing} changes are missing in between"));
        }
        said
    }
}
