//! The file and its sections.
use crate::cursor::Cursor;
use crate::error::ReadError;
use crate::location::Locations;
use crate::locations::LocationState;
use crate::names::Names;
use crate::strings::Strings;

/// The first four bytes: `ML`, 0xEF, `R`.
const MAGIC: [u8; 4] = *b"ML\xEFR";

/// The newest container that is read.
const VERSION_NEWEST: u64 = 6;
/// Dialects have versions.
pub(crate) const VERSION_DIALECT: u64 = 1;
/// Isolated regions are sections.
const VERSION_SECTIONS: u64 = 2;
/// Orders of uses are written.
pub(crate) const VERSION_USES: u64 = 3;
/// Unknown locations of block arguments are left out, and operation names are counted.
pub(crate) const VERSION_ELIDED: u64 = 4;
/// Properties have a section.
pub(crate) const VERSION_PROPERTIES: u64 = 5;

const KIND_STRINGS: usize = 0;
const KIND_DIALECTS: usize = 1;
const KIND_ENTRIES: usize = 2;
const KIND_OFFSETS: usize = 3;
const KIND_IR: u8 = 4;
const KIND_RESOURCE_OFFSETS: usize = 6;
pub(crate) const KIND_DIALECT_VERSION: u8 = 7;
const KIND_PROPERTIES: usize = 8;
const KINDS: usize = 9;

/// Whether these bytes begin as MLIR bytecode does.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// An encoded attribute or type.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The dialect.
    pub dialect: &'a str,
    /// Whether the dialect has an encoding for it; otherwise it is text.
    pub encoded: bool,
    /// The bytes.
    pub data: Cursor<'a>,
}

/// Bytecode whose tables are read and whose entries are not decoded yet.
#[derive(Debug)]
pub struct File<'a> {
    /// Version of the container.
    pub version: u64,
    /// Who wrote the file.
    pub producer: String,
    /// The strings.
    pub strings: Strings<'a>,
    /// Names of dialects and operations.
    pub names: Names<'a>,
    /// Attributes by number.
    pub attributes: Vec<Entry<'a>>,
    /// Types by number.
    pub types: Vec<Entry<'a>>,
    /// Properties by number.
    pub properties: Vec<Cursor<'a>>,
    /// Names of the resources that attributes may refer to.
    pub resources: Vec<&'a str>,
    /// The locations that were decoded.
    pub locations: Locations,
    pub(crate) location_states: Vec<LocationState>,
}

impl<'a> File<'a> {
    /// Reads the tables. The section of the code comes with them.
    ///
    /// # Errors
    /// What is damaged, or newer than this reader, with its offset.
    pub fn open(bytes: &'a [u8]) -> Result<(Self, Cursor<'a>), ReadError> {
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
        let mut sections: [Option<Cursor<'a>>; KINDS] = [None; KINDS];
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
        let names = Names::read(section(KIND_DIALECTS)?, &strings, version)?;
        let mut opened = Self {
            version,
            producer,
            strings,
            names,
            attributes: Vec::new(),
            types: Vec::new(),
            properties: Vec::new(),
            resources: Vec::new(),
            locations: Locations::default(),
            location_states: Vec::new(),
        };
        opened.entries(section(KIND_ENTRIES)?, section(KIND_OFFSETS)?)?;
        if let Some(properties) = sections[KIND_PROPERTIES] {
            opened.properties = blobs(properties)?;
        }
        if let Some(offsets) = sections[KIND_RESOURCE_OFFSETS] {
            opened.resource_names(offsets)?;
        }
        Ok((opened, section(usize::from(KIND_IR))?))
    }

    /// Reads where each entry is.
    fn entries(&mut self, mut data: Cursor<'a>, mut offsets: Cursor<'a>) -> Result<(), ReadError> {
        let attributes = offsets.count()?;
        let types = offsets.count()?;
        for (count, is_type) in [(attributes, false), (types, true)] {
            let mut entries = Vec::with_capacity(count);
            while entries.len() < count {
                let at = offsets.at();
                let dialect = self.names.next(&mut offsets)?;
                let group = offsets.count()?;
                if group > count - entries.len() {
                    return Err(ReadError::at(
                        at,
                        format!("{group} entries in a group, {} left", count - entries.len()),
                    ));
                }
                for _ in 0..group {
                    let (size, encoded) = offsets.flagged()?;
                    entries.push(Entry { dialect, encoded, data: data.part(size)? });
                }
            }
            if is_type {
                self.types = entries;
            } else {
                self.attributes = entries;
            }
        }
        self.location_states.resize(attributes, LocationState::New);
        offsets.finish("the table of attributes and types")
    }

    /// Reads the names of resources.
    fn resource_names(&mut self, mut offsets: Cursor<'a>) -> Result<(), ReadError> {
        for _ in 0..offsets.count()? {
            self.strings.bytes(&mut offsets)?;
            for _ in 0..offsets.count()? {
                self.strings.bytes(&mut offsets)?;
                offsets.index()?;
                offsets.byte()?;
            }
        }
        while !offsets.is_empty() {
            self.names.next(&mut offsets)?;
            for _ in 0..offsets.count()? {
                self.resources.push(self.strings.text(&mut offsets)?);
                offsets.index()?;
                offsets.byte()?;
            }
        }
        Ok(())
    }

    /// The section of isolated regions, if they have one.
    ///
    /// # Errors
    /// Damage.
    pub fn regions_of(
        &self,
        code: &mut Cursor<'a>,
        at: usize,
        isolated: bool,
    ) -> Result<Option<Cursor<'a>>, ReadError> {
        if !isolated || self.version < VERSION_SECTIONS {
            return Ok(None);
        }
        match code.section()? {
            (KIND_IR, content) => Ok(Some(content)),
            (kind, _) => Err(ReadError::at(at, format!("section {kind} where code was expected"))),
        }
    }
}

/// Where each operation's properties are.
fn blobs(mut section: Cursor<'_>) -> Result<Vec<Cursor<'_>>, ReadError> {
    let count = section.count()?;
    let mut blobs = Vec::with_capacity(count);
    for _ in 0..count {
        let size = section.index()?;
        blobs.push(section.part(size)?);
    }
    section.finish("the properties")?;
    Ok(blobs)
}

/// An index past a table.
pub fn unknown(at: usize, what: &str, index: usize, count: usize) -> ReadError {
    ReadError::at(at, format!("{what} {index} of {count}"))
}
