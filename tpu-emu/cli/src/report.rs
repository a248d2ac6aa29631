//! The HTML report of a trace.
use crate::environment;
use crate::input::{Input, InputError};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tpu_report::{Options, write_report};
use tpu_trace::{Links, MomentName};

/// Writes the report of a file, and says where it is. Without a name it stands beside the trace;
/// `-` is standard output.
pub(crate) fn report(
    file: &Path,
    output: Option<&Path>,
    at: Option<&MomentName>,
) -> Result<Vec<u8>, InputError> {
    let input = Input::open(file)?;
    let out = output.map_or_else(|| file.with_extension("html"), Path::to_path_buf);
    if out == Path::new("-") {
        let mut page = Vec::new();
        write_page(&input, at, &mut page, |why| input.failed(why))?;
        return Ok(page);
    }
    write(&input, &out, at)?;
    Ok(format!("{}\n", out.display()).into_bytes())
}

/// Writes the report of an input to a file. What was there stays until the report is whole.
pub(crate) fn write(input: &Input, out: &Path, at: Option<&MomentName>) -> Result<(), InputError> {
    let failed =
        |why: io::Error| input.failed(io::Error::other(format!("{}: {why}", out.display())));
    let is_same = |path: &Path| match (fs::canonicalize(path), fs::canonicalize(&input.path)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if is_same(out) {
        return Err(failed(io::Error::other("that is the trace itself")));
    }
    // A pipe or a device is written to as it is.
    if fs::metadata(out).is_ok_and(|found| !found.is_file()) {
        let found = File::options().write(true).open(out).map_err(failed)?;
        return write_page(input, at, &mut BufWriter::new(found), failed);
    }
    let part = partial(out);
    let file = File::create(&part).map_err(failed)?;
    let written = write_page(input, at, &mut BufWriter::with_capacity(1 << 20, file), failed);
    let renamed = written.and_then(|()| fs::rename(&part, out).map_err(failed));
    if renamed.is_err() {
        // What could not be written whole is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&part);
    }
    renamed
}

/// The name of a report that is being written.
pub(crate) fn partial(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    out.with_file_name(name)
}

fn write_page(
    input: &Input,
    at: Option<&MomentName>,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> InputError,
) -> Result<(), InputError> {
    let editor = environment::text("TPU_EMU_EDITOR");
    let is_known = Links::new(editor.as_deref(), "").map(|_| ());
    let refused = |why: String| input.failed(io::Error::other(format!("TPU_EMU_EDITOR: {why}")));
    is_known.map_err(refused)?;
    let options = Options {
        name: input.name.clone(),
        cut: input.cut(),
        editor,
        at: at.map(|at| input.moment(at)).transpose()?,
    };
    let written = write_report(&input.trace, &input.history, &options, out);
    written.and_then(|()| out.flush()).map_err(failed)
}
