//! The names of dialects and operations.
use crate::container::{KIND_DIALECT_VERSION, VERSION_DIALECT, VERSION_ELIDED, VERSION_PROPERTIES};
use crate::cursor::Cursor;
use crate::error::ReadError;
use crate::strings::Strings;

/// The dialect section.
#[derive(Debug, Default)]
pub struct Names<'a> {
    /// The dialects.
    pub dialects: Vec<&'a str>,
    /// The operations.
    pub operations: Vec<OperationName<'a>>,
}

/// The name of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationName<'a> {
    /// The dialect.
    pub dialect: &'a str,
    /// What follows the point.
    pub mnemonic: &'a str,
    /// Whether its properties have an encoding of their own; otherwise they are a dictionary.
    pub registered: bool,
}

impl<'a> Names<'a> {
    /// Reads the section.
    ///
    /// # Errors
    /// Damage.
    pub fn read(
        mut section: Cursor<'a>,
        strings: &Strings<'a>,
        version: u64,
    ) -> Result<Self, ReadError> {
        let count = section.count()?;
        let mut names = Self::default();
        for _ in 0..count {
            if version < VERSION_DIALECT {
                names.dialects.push(strings.text(&mut section)?);
                continue;
            }
            let at = section.at();
            let (name, versioned) = section.flagged()?;
            names.dialects.push(strings.text_at(at, name)?);
            if versioned {
                let (kind, _) = section.section()?;
                if kind != KIND_DIALECT_VERSION {
                    return Err(ReadError::at(
                        at,
                        format!("section {kind} where a dialect's version was expected"),
                    ));
                }
            }
        }
        if version >= VERSION_ELIDED {
            section.index()?;
        }
        while !section.is_empty() {
            let dialect = names.next(&mut section)?;
            for _ in 0..section.count()? {
                let at = section.at();
                let (name, registered) = if version < VERSION_PROPERTIES {
                    (section.index()?, true)
                } else {
                    section.flagged()?
                };
                let mnemonic = strings.text_at(at, name)?;
                names.operations.push(OperationName { dialect, mnemonic, registered });
            }
        }
        Ok(names)
    }

    /// The dialect whose index comes next.
    ///
    /// # Errors
    /// Damage, or no such dialect.
    pub fn next(&self, cursor: &mut Cursor<'_>) -> Result<&'a str, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.dialects
            .get(index)
            .copied()
            .ok_or_else(|| ReadError::at(at, format!("dialect {index} of {}", self.dialects.len())))
    }

    /// The operation whose index comes next, with that index.
    ///
    /// # Errors
    /// Damage, or no such operation.
    pub fn operation(
        &self,
        cursor: &mut Cursor<'_>,
    ) -> Result<(usize, OperationName<'a>), ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        let name = self.operations.get(index).copied().ok_or_else(|| {
            ReadError::at(at, format!("operation name {index} of {}", self.operations.len()))
        })?;
        Ok((index, name))
    }
}
