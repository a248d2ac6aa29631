//! Debug locations: most of the bytes of a program, chains of hundreds of calls. They are decoded
//! without recursion, each once.
use crate::container::{File, unknown};
use crate::cursor::Cursor;
use crate::error::ReadError;
use crate::location::{Location, LocationId};

const CALL_SITE: u64 = 10;
const FILE: u64 = 11;
const FUSED: u64 = 12;
const FUSED_WITH_METADATA: u64 = 13;
const NAME: u64 = 14;
const UNKNOWN: u64 = 15;
const FILE_RANGE: u64 = 22;

/// Whether a builtin attribute of this code is a location.
pub fn is_location(code: u64) -> bool {
    matches!(code, CALL_SITE..=UNKNOWN | FILE_RANGE)
}

/// How far the decoding of a location is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LocationState {
    /// Not begun.
    New,
    /// Waiting for those inside of it.
    Open,
    /// Done.
    Done(LocationId),
}

impl File<'_> {
    /// The location whose index comes next.
    pub fn location(&mut self, cursor: &mut Cursor<'_>) -> Result<LocationId, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.location_at(at, index)
    }

    /// A location of the attribute table.
    pub fn location_at(&mut self, at: usize, index: usize) -> Result<LocationId, ReadError> {
        // Entries that wait for the ones above them.
        let mut waiting = vec![index];
        let mut missing = Vec::new();
        while let Some(&index) = waiting.last() {
            match self.location_states.get(index) {
                Some(LocationState::Done(_)) => {
                    waiting.pop();
                    continue;
                }
                Some(_) => self.location_states[index] = LocationState::Open,
                None => return Err(unknown(at, "location", index, self.attributes.len())),
            }
            let entry = self.attributes[index];
            let location = if entry.encoded && entry.dialect == "builtin" {
                self.one_location(entry.data, &mut missing)?
            } else {
                Location::Unknown
            };
            if missing.is_empty() {
                let id = match location {
                    Location::Unknown => LocationId::UNKNOWN,
                    known => self.locations.add(known),
                };
                self.location_states[index] = LocationState::Done(id);
                waiting.pop();
            } else {
                waiting.append(&mut missing);
            }
        }
        match self.location_states.get(index) {
            Some(LocationState::Done(id)) => Ok(*id),
            _ => Err(unknown(at, "location", index, self.attributes.len())),
        }
    }

    /// Decodes one, or tells which others have to be decoded before.
    fn one_location(
        &mut self,
        mut data: Cursor<'_>,
        missing: &mut Vec<usize>,
    ) -> Result<Location, ReadError> {
        let at = data.at();
        let location = match data.varint()? {
            UNKNOWN => Location::Unknown,
            FILE => {
                let file = self.file_name(&mut data)?;
                let (line, column) = (number(&mut data)?, number(&mut data)?);
                Location::File { file, line, column }
            }
            FILE_RANGE => {
                let file = self.file_name(&mut data)?;
                let numbers: Vec<u32> =
                    (0..data.count()?).map(|_| number(&mut data)).collect::<Result<_, _>>()?;
                let get = |index: usize| numbers.get(index).copied().unwrap_or(0);
                Location::File { file, line: get(0), column: get(1) }
            }
            NAME => {
                let name = self.file_name(&mut data)?;
                Location::Name(name, self.child(&mut data, missing)?)
            }
            CALL_SITE => {
                let callee = self.child(&mut data, missing)?;
                Location::CallSite(callee, self.child(&mut data, missing)?)
            }
            code @ (FUSED | FUSED_WITH_METADATA) => {
                let count = data.count()?;
                let parts =
                    (0..count).map(|_| self.child(&mut data, missing)).collect::<Result<_, _>>()?;
                if code == FUSED_WITH_METADATA {
                    data.index()?;
                }
                Location::Fused(parts)
            }
            other => return Err(ReadError::at(at, format!("code {other} is no location"))),
        };
        data.finish("a location")?;
        Ok(location)
    }

    fn child(
        &mut self,
        data: &mut Cursor<'_>,
        missing: &mut Vec<usize>,
    ) -> Result<LocationId, ReadError> {
        let at = data.at();
        let index = data.index()?;
        match self.location_states.get(index) {
            Some(LocationState::Done(id)) => Ok(*id),
            Some(LocationState::New) => {
                missing.push(index);
                Ok(LocationId::UNKNOWN)
            }
            Some(LocationState::Open) => Err(ReadError::at(at, "a location inside of itself")),
            None => Err(unknown(at, "location", index, self.attributes.len())),
        }
    }

    /// The text of a string attribute, without a copy for each use.
    fn file_name(&mut self, data: &mut Cursor<'_>) -> Result<std::sync::Arc<str>, ReadError> {
        let at = data.at();
        let index = data.index()?;
        let Some(entry) = self.attributes.get(index) else {
            return Err(unknown(at, "attribute", index, self.attributes.len()));
        };
        let mut text = entry.data;
        if entry.encoded && entry.dialect == "builtin" {
            let code = text.varint()?;
            if matches!(code, 2 | 3) {
                return self.strings.shared(&mut text);
            }
        }
        Err(ReadError::at(at, format!("attribute {index} is no string")))
    }
}

fn number(data: &mut Cursor<'_>) -> Result<u32, ReadError> {
    let at = data.at();
    let value = data.varint()?;
    u32::try_from(value).map_err(|_| ReadError::at(at, format!("line or column {value}")))
}
