//! Reads MLIR bytecode, versions 0 to 6, with the dialects that frameworks put into it: VHLO of
//! every version, builtin, func, sdy, and what they mix in.
//!
//! The input is not trusted. All access goes through one cursor; counts are held against the
//! bytes that are left; nesting is bounded; and what decoding makes is paid from a budget
//! that is proportional to the input, so that shared attributes cannot blow up.
mod asm;
mod attributes;
mod cursor;
mod dialects;
mod elements;
mod function;
mod locations;
mod mesh_axes;
mod operation;
mod properties;
mod sdy;
mod strings;
mod table;
mod types;

pub(crate) use cursor::Cursor;
pub(crate) use table::{BytecodeReader, Node};

use crate::{Module, ReadError};
use dialects::Dialects;
use strings::Strings;

/// The first four bytes: `ML`, 0xEF, `R`.
const MAGIC: [u8; 4] = *b"ML\xEFR";

/// The newest container that is read.
const VERSION_NEWEST: u64 = 6;
/// Dialects have versions.
const VERSION_DIALECT: u64 = 1;
/// Isolated regions are sections.
const VERSION_SECTIONS: u64 = 2;
/// Orders of uses are written.
const VERSION_USES: u64 = 3;
/// Unknown locations of block arguments are left out, and operation names are counted.
const VERSION_ELIDED: u64 = 4;
/// Properties have a section.
const VERSION_PROPERTIES: u64 = 5;

const KIND_STRINGS: usize = 0;
const KIND_DIALECTS: usize = 1;
const KIND_ENTRIES: usize = 2;
const KIND_OFFSETS: usize = 3;
const KIND_IR: u8 = 4;
const KIND_RESOURCE_OFFSETS: usize = 6;
const KIND_DIALECT_VERSION: u8 = 7;
const KIND_PROPERTIES: usize = 8;
const KINDS: usize = 9;

/// Regions inside of each other that are read.
const REGION_DEPTH: usize = 64;
/// Attributes and types inside of each other that are read.
const ENTRY_DEPTH: usize = 64;

/// Whether these bytes begin as MLIR bytecode does.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads a module.
///
/// Locations are decoded with everything else: a damaged one is an error, one of a kind that is
/// not known reads as unknown. VHLO is upgraded to its newest operations and written in
/// StableHLO's names; casts between dialects are dropped.
///
/// # Errors
///
/// What is damaged, unknown or newer than this reader, with its offset.
pub fn read(bytes: &[u8]) -> Result<Module, ReadError> {
    let mut file = Cursor::new(bytes);
    if !is_bytecode(bytes) {
        return Err(file.error("no MLIR bytecode: it does not begin with ML\u{ef}R"));
    }
    file.bytes(MAGIC.len())?;
    let version = file.varint()?;
    if version > VERSION_NEWEST {
        return Err(ReadError::at(
            MAGIC.len(),
            format!("bytecode of version {version}, the newest known one is {VERSION_NEWEST}"),
        ));
    }
    let producer = String::from_utf8_lossy(file.until_zero()?).into_owned();
    let mut sections: [Option<Cursor<'_>>; KINDS] = [None; KINDS];
    while !file.is_empty() {
        let at = file.at();
        let (kind, content) = file.section()?;
        let Some(slot) = sections.get_mut(usize::from(kind)) else {
            return Err(ReadError::at(at, format!("section of unknown kind {kind}")));
        };
        if slot.replace(content).is_some() {
            return Err(ReadError::at(at, format!("a second section of kind {kind}")));
        }
    }
    let section = |kind: usize| {
        sections[kind].ok_or_else(|| ReadError::at(bytes.len(), format!("no section {kind}")))
    };
    let strings = Strings::read(section(KIND_STRINGS)?)?;
    let dialects = Dialects::read(section(KIND_DIALECTS)?, &strings, version)?;
    let mut reader = BytecodeReader::new(bytes.len(), version, producer, strings, dialects);
    reader.entries(section(KIND_ENTRIES)?, section(KIND_OFFSETS)?)?;
    if let Some(properties) = sections[KIND_PROPERTIES] {
        reader.properties = properties::blobs(properties)?;
    }
    if let Some(offsets) = sections[KIND_RESOURCE_OFFSETS] {
        reader.resource_names(offsets)?;
    }
    reader.module(section(usize::from(KIND_IR))?)
}
