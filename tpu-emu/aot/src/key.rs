//! Under what an answer is kept: all that decides it.
use crate::wire::Request;
use crate::{Result, find, options};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{Hash, Hasher as _};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// How much of each end of the library is looked at.
const END: u64 = 1 << 20;

/// A note of the linker's with the number of the build: the sizes of its name and kind are known.
const BUILD_ID: [u8; 8] = [3, 0, 0, 0, b'G', b'N', b'U', 0];

/// What tells a library from all others: its size, both of its ends, and where the linker has left
/// no number of the build there, when it was written.
///
/// # Errors
/// A sentence that names the file.
pub(crate) fn identity(library: &Path) -> Result<u64> {
    let wrong = |why: std::io::Error| find::unreadable(library, &why);
    let mut file = File::open(library).map_err(wrong)?;
    let about = file.metadata().map_err(wrong)?;
    let mut ends = Vec::new();
    file.by_ref().take(END).read_to_end(&mut ends).map_err(wrong)?;
    let has_build_id = ends.windows(BUILD_ID.len()).any(|window| window == BUILD_ID);
    file.seek(SeekFrom::Start(about.len().saturating_sub(END))).map_err(wrong)?;
    file.take(END).read_to_end(&mut ends).map_err(wrong)?;
    let mut hasher = DefaultHasher::new();
    about.len().hash(&mut hasher);
    ends.hash(&mut hasher);
    if !has_build_id {
        let written = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        written.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// The name of a program's answer: from the library, what the environment tells it, and the
/// request.
pub(crate) fn name(identity: u64, environment: &[(OsString, OsString)], asked: &Request) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        let Request { topology, format, code, options } = asked;
        let options = options::in_one_order(options);
        (salt, identity, environment, topology, format, code, options).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}
