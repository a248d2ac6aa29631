//! The names of dialects and operations.
use super::cursor::Cursor;
use super::strings::Strings;
use super::{KIND_DIALECT_VERSION, VERSION_DIALECT, VERSION_ELIDED, VERSION_PROPERTIES};
use crate::{ReadError, vhlo};

/// The dialect section.
#[derive(Debug, Default)]
pub(crate) struct Dialects<'a> {
    /// Names of dialects.
    pub(crate) names: Vec<&'a str>,
    /// Names of operations.
    pub(crate) operations: Vec<OperationName<'a>>,
}

/// The name of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationName<'a> {
    /// The dialect.
    pub(crate) dialect: &'a str,
    /// What follows the point.
    pub(crate) mnemonic: &'a str,
    /// Whether its properties have an encoding of their own; otherwise they are a dictionary.
    pub(crate) registered: bool,
    /// What it is in VHLO, if it is known there.
    pub(crate) row: Option<&'static vhlo::VersionRow>,
}

impl<'a> Dialects<'a> {
    /// Reads the section.
    pub(crate) fn read(
        mut section: Cursor<'a>,
        strings: &Strings<'a>,
        version: u64,
    ) -> Result<Self, ReadError> {
        let count = section.count()?;
        let mut dialects = Self::default();
        for _ in 0..count {
            if version < VERSION_DIALECT {
                dialects.names.push(strings.text(&mut section)?);
                continue;
            }
            let at = section.at();
            let (name, versioned) = section.flagged()?;
            dialects.names.push(strings.text_at(at, name)?);
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
            let dialect = dialects.next(&mut section)?;
            for _ in 0..section.count()? {
                let at = section.at();
                let (name, registered) = if version < VERSION_PROPERTIES {
                    (section.index()?, true)
                } else {
                    section.flagged()?
                };
                let mnemonic = strings.text_at(at, name)?;
                let row = (dialect == "vhlo").then(|| vhlo::find(mnemonic)).flatten();
                dialects.operations.push(OperationName { dialect, mnemonic, registered, row });
            }
        }
        Ok(dialects)
    }

    /// The dialect whose index comes next.
    pub(crate) fn next(&self, cursor: &mut Cursor<'_>) -> Result<&'a str, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.names
            .get(index)
            .copied()
            .ok_or_else(|| ReadError::at(at, format!("dialect {index} of {}", self.names.len())))
    }

    /// The operation whose index comes next.
    pub(crate) fn operation(
        &self,
        cursor: &mut Cursor<'_>,
    ) -> Result<OperationName<'a>, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.operations.get(index).copied().ok_or_else(|| {
            ReadError::at(at, format!("operation name {index} of {}", self.operations.len()))
        })
    }
}
