//! What a Python says of itself, and what it does with a small program.
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long a Python may take to answer, and to run a program.
const ANSWER: Duration = Duration::from_secs(20);
const PROGRAM: Duration = Duration::from_secs(120);

/// Asks for versions without importing what is asked for.
const ABOUT: &str = "
import json, os, sys
from importlib import metadata

def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

names = ['jax', 'jaxlib', 'libtpu', 'libtpu-nightly', 'tpu-emu', 'torch-xla']
found = {name: version(name) for name in names}
folders = [os.path.abspath(folder) for folder in sys.path]
print(json.dumps({'python': list(sys.version_info[:3]), 'packages': found, 'folders': folders}))
";

/// A program on the device.
const TRIAL: &str = "
import json
import jax
import jax.numpy as jnp

device = jax.devices('tpu')[0]
total = float(jax.jit(lambda x: (x + 1).sum())(jax.device_put(jnp.ones((8, 128)), device)))
stats = device.memory_stats()
print(json.dumps({
    'kind': device.device_kind,
    'devices': len(jax.devices('tpu')),
    'version': device.client.platform_version,
    'total': total,
    'peak': stats['peak_bytes_in_use'],
}))
";

/// What a Python is.
#[derive(Debug, Deserialize)]
pub(super) struct About {
    pub(super) python: [u64; 3],
    pub(super) packages: std::collections::BTreeMap<String, Option<String>>,
    pub(super) folders: Vec<PathBuf>,
}

/// What became of the small program.
#[derive(Debug, Deserialize)]
pub(super) struct Trial {
    pub(super) kind: String,
    pub(super) devices: u64,
    pub(super) version: String,
    pub(super) total: f64,
    pub(super) peak: u64,
}

/// Asks a Python what it is.
///
/// # Errors
/// What it said instead.
pub(super) fn about(python: &Path) -> Result<About, String> {
    let mut command = Command::new(python);
    command.args(["-c", ABOUT]);
    answer(command, ANSWER)
}

/// Runs the small program on the emulated TPU.
///
/// # Errors
/// The last line that it wrote to standard error.
pub(super) fn trial(python: &Path, library: &Path) -> Result<Trial, String> {
    let mut command = Command::new(python);
    command.args(["-c", TRIAL]);
    crate::run::emulated(&mut command, library);
    // The trace of somebody's run is not for this program.
    command.env_remove("TPU_EMU_TRACE");
    answer(command, PROGRAM)
}

/// The JSON that a program prints as its last line.
fn answer<T: for<'de> Deserialize<'de>>(command: Command, limit: Duration) -> Result<T, String> {
    let (status, out, err) = done(command, limit).map_err(|why| why.to_string())?;
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_owned();
    if !status.success() {
        return Err(match last(&err) {
            line if line.is_empty() => format!("it ended with {status}"),
            line => line,
        });
    }
    serde_json::from_str(&last(&out)).map_err(|_| format!("it answered {:?}", last(&out)))
}

/// Runs a program to its end, and gives what it wrote; one that takes longer is ended.
fn done(mut command: Command, limit: Duration) -> io::Result<(ExitStatus, String, String)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (sender, receiver) = channel();
    let out = child.stdout.take();
    let err = child.stderr.take();
    // Two readers, so that neither pipe fills up while the other is read.
    let errors = thread::spawn(move || read(err));
    thread::spawn(move || {
        // Nobody waits any more where the program took too long.
        let _ = sender.send(read(out));
    });
    let out = match receiver.recv_timeout(limit) {
        Ok(out) => out,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            child.kill()?;
            child.wait()?;
            let seconds = limit.as_secs();
            return Err(io::Error::other(format!("it took longer than {seconds} seconds")));
        }
    };
    let status = child.wait()?;
    Ok((status, out, errors.join().unwrap_or_default()))
}

fn read(pipe: Option<impl io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read until an error is what there is.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
