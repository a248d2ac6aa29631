//! The programs that are damaged: those of the repository's tests, and a few of their own.
use std::fs::{read, read_dir};
use std::io;
use std::path::{Path, PathBuf};

/// How a program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// StableHLO as MLIR bytecode.
    Bytecode,
    /// StableHLO as MLIR text.
    Text,
    /// A serialized `HloModuleProto`.
    HloProto,
    /// HLO text.
    HloText,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bytecode, Self::Text, Self::HloProto, Self::HloText];

    /// The end of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Bytecode => "mlirbc",
            Self::Text => "mlir",
            Self::HloProto => "pb",
            Self::HloText => "hlo",
        }
    }

    /// The form of a file, by its name.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|form| form.extension() == extension)
    }

    /// Whether damage can look at words.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::HloText)
    }
}

/// A program as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The file.
    pub path: PathBuf,
    /// How it is written.
    pub form: Form,
    /// What stands in it.
    pub bytes: Vec<u8>,
}

impl Seed {
    /// Whether it is a text with kernels of Pallas.
    pub fn has_kernels(&self) -> bool {
        self.text().is_some_and(|text| text.contains("tpu_custom_call"))
    }

    /// The text of a program in text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.form.is_text())
    }
}

/// Where programs are, from the root of the repository.
const FOLDERS: &[&str] = &[
    "python-tests/jax/programs",
    "tpu-emu/fuzz/seeds/programs",
    "tpu-emu/hlo/tests/golden",
    "tpu-emu/stablehlo/tests/golden",
];

/// Every program, in the same order everywhere.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn all() -> io::Result<Vec<Seed>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = Vec::new();
    for folder in FOLDERS {
        let mut paths: Vec<PathBuf> = read_dir(root.join(folder))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        paths.sort();
        for path in paths {
            if let Some(form) = Form::of(&path) {
                seeds.push(Seed { bytes: read(&path)?, path, form });
            }
        }
    }
    Ok(seeds)
}

/// The most bytes that a fuzzer begins with: it makes none longer, and long ones cost it time.
const MOST_BYTES: usize = 4096;

/// What the reader with this name is begun with: what is small.
///
/// # Errors
/// As for [`all`].
pub fn of_reader(name: &str) -> io::Result<Vec<Vec<u8>>> {
    let form = match name {
        "bytecode" => Form::Bytecode,
        "text" => Form::Text,
        "hlo_proto" => Form::HloProto,
        "hlo_text" => Form::HloText,
        "mosaic" => return kernels(),
        "trace" => return Ok(crate::traces::seeds()),
        _ => {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
            return read_dir(folder)?.map(|entry| read(entry?.path())).collect();
        }
    };
    let small = |seed: &Seed| seed.form == form && seed.bytes.len() <= MOST_BYTES;
    Ok(all()?.into_iter().filter(small).map(|seed| seed.bytes).collect())
}

/// The modules of kernels that the tests of their reader have.
fn kernels() -> io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mosaic/tests/golden");
    let paths = read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "mlirbc"));
    paths.sort();
    paths.iter().map(read).collect()
}
