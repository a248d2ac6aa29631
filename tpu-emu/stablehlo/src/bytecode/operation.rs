//! What stands at the beginning of every operation.
use super::dialects::OperationName;
use super::{BytecodeReader, Cursor, VERSION_USES};
use crate::ReadError;
use crate::ir::{Attributes, LocationId, Name, Type};
use crate::vhlo;

/// An operation without its regions.
#[derive(Debug)]
pub(crate) struct Header {
    /// The name in StableHLO.
    pub(crate) name: Name,
    pub(crate) at: usize,
    pub(crate) location: LocationId,
    pub(crate) attributes: Attributes,
    pub(crate) results: Vec<Type>,
    /// Values by their number in the innermost isolated region.
    pub(crate) operands: Vec<usize>,
    pub(crate) regions: usize,
    /// Whether its regions use nothing from outside: they count values from zero.
    pub(crate) isolated: bool,
}

impl BytecodeReader<'_> {
    /// Reads all of an operation but its regions.
    pub(crate) fn header(&mut self, cursor: &mut Cursor<'_>) -> Result<Header, ReadError> {
        let at = cursor.at();
        let name = self.dialects.operation(cursor)?;
        let row = name.row;
        if row.is_none() && name.dialect == "vhlo" {
            return Err(ReadError::at(at, vhlo::why_unknown(name.mnemonic, &self.producer)));
        }
        let mask = cursor.byte()?;
        let has = |bit: u8| mask & (1 << bit) != 0;
        if has(7) {
            return Err(ReadError::at(at, format!("the operation's parts are {mask:#x}")));
        }
        let location = self.location(cursor)?;
        let mut attributes = self.operation_attributes(cursor, name, row, has(0), has(6))?;
        attributes.sort();
        let results = if has(1) { self.type_list(cursor)? } else { Vec::new() };
        let mut operands = Vec::new();
        if has(2) {
            for _ in 0..cursor.count()? {
                operands.push(cursor.index()?);
            }
        }
        if has(3) && cursor.index()? != 0 {
            return Err(ReadError::at(at, format!("{} with successors", full_name(name, row))));
        }
        if has(5) && self.version >= VERSION_USES {
            skip_uses(cursor, results.len())?;
        }
        let (regions, isolated) = if has(4) { cursor.flagged()? } else { (0, false) };
        let name = full_name(name, row);
        if let Name::Owned(name) = &name {
            self.pay(at, name.len())?;
        }
        Ok(Header { name, at, location, attributes, results, operands, regions, isolated })
    }
}

fn full_name(name: OperationName<'_>, row: Option<&'static vhlo::VersionRow>) -> Name {
    match row {
        Some(row) => Name::Borrowed(row.name),
        None if name.mnemonic.is_empty() => Name::Owned(name.dialect.into()),
        None => Name::Owned(format!("{}.{}", name.dialect, name.mnemonic)),
    }
}

/// Skips the orders in which values are used.
pub(crate) fn skip_uses(cursor: &mut Cursor<'_>, values: usize) -> Result<(), ReadError> {
    let orders = if values > 1 { cursor.count()? } else { 1 };
    for _ in 0..orders {
        if values > 1 {
            cursor.index()?;
        }
        let (count, _) = cursor.flagged()?;
        if count > cursor.left() {
            return Err(cursor.error(format!("{count} uses in {} bytes", cursor.left())));
        }
        for _ in 0..count {
            cursor.varint()?;
        }
    }
    Ok(())
}
