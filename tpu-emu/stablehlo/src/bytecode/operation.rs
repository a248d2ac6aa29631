//! What stands at the beginning of every operation.
use super::{BytecodeReader, Cursor};
use crate::ReadError;
use crate::ir::{Attributes, LocationId, Name, Type};
use crate::vhlo;
use tpu_mlir::names::OperationName;
use tpu_mlir::operation::RawOperation;

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
        let raw = self.file.operation(cursor)?;
        let (at, name) = (raw.at, raw.name);
        let row = self.rows.get(raw.named).copied().flatten();
        if row.is_none() && name.dialect == "vhlo" {
            return Err(ReadError::at(at, vhlo::why_unknown(name.mnemonic, &self.file.producer)));
        }
        let location = self.file.location_at(raw.location.at, raw.location.index)?;
        let mut attributes = self.operation_attributes(&raw, row)?;
        attributes.sort();
        let results = raw.results.iter().map(|of| self.type_at(of.at, of.index));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        if raw.has_successors {
            return Err(ReadError::at(at, format!("{} with successors", full_name(name, row))));
        }
        let name = full_name(name, row);
        if let Name::Owned(name) = &name {
            self.pay(at, name.len())?;
        }
        let RawOperation { operands, regions, isolated, .. } = raw;
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
