//! What stands at the beginning of every operation, and of every block.
use crate::builtin::Reference;
use crate::container::{File, VERSION_ELIDED, VERSION_USES};
use crate::cursor::Cursor;
use crate::error::ReadError;
use crate::names::OperationName;

/// An operation without its regions; types, attributes and the location by their numbers, each
/// with where it stands.
#[derive(Debug)]
pub struct RawOperation<'a> {
    /// Where it begins.
    pub at: usize,
    /// The number of its name among the file's.
    pub named: usize,
    /// What it is called.
    pub name: OperationName<'a>,
    /// Where it was written.
    pub location: Reference,
    /// The dictionary of attributes, if it has one.
    pub dictionary: Option<Reference>,
    /// The properties, if it has some.
    pub properties: Option<Reference>,
    /// The types of its results.
    pub results: Vec<Reference>,
    /// Values by their number in the innermost isolated region.
    pub operands: Vec<usize>,
    /// Whether it names other blocks.
    pub has_successors: bool,
    /// How many regions follow.
    pub regions: usize,
    /// Whether its regions use nothing from outside: they count values from zero.
    pub isolated: bool,
}

impl<'a> File<'a> {
    /// Reads all of an operation but its regions.
    ///
    /// # Errors
    /// Damage.
    pub fn operation(&self, cursor: &mut Cursor<'_>) -> Result<RawOperation<'a>, ReadError> {
        let at = cursor.at();
        let (named, name) = self.names.operation(cursor)?;
        let mask = cursor.byte()?;
        let has = |bit: u8| mask & (1 << bit) != 0;
        if has(7) {
            return Err(ReadError::at(at, format!("the operation's parts are {mask:#x}")));
        }
        let location = Reference::read(cursor)?;
        let number = |cursor: &mut Cursor<'_>, bit: u8| {
            has(bit).then(|| Reference::read(cursor)).transpose()
        };
        let dictionary = number(cursor, 0)?;
        let properties = number(cursor, 6)?;
        let mut results = Vec::new();
        if has(1) {
            for _ in 0..cursor.count()? {
                results.push(Reference::read(cursor)?);
            }
        }
        let mut operands = Vec::new();
        if has(2) {
            for _ in 0..cursor.count()? {
                operands.push(cursor.index()?);
            }
        }
        let has_successors = has(3) && cursor.index()? != 0;
        let (mut regions, mut isolated) = (0, false);
        // What follows successors is not known: an error has to end the reading there.
        if !has_successors {
            if has(5) && self.version >= VERSION_USES {
                skip_uses(cursor, results.len())?;
            }
            if has(4) {
                (regions, isolated) = cursor.flagged()?;
            }
        }
        Ok(RawOperation {
            at,
            named,
            name,
            location,
            dictionary,
            properties,
            results,
            operands,
            has_successors,
            regions,
            isolated,
        })
    }

    /// The type and the location of a block's argument, by their numbers.
    ///
    /// # Errors
    /// Damage.
    pub fn argument(
        &self,
        code: &mut Cursor<'_>,
    ) -> Result<(Reference, Option<Reference>), ReadError> {
        let at = code.at();
        let (index, has_location) =
            if self.version >= VERSION_ELIDED { code.flagged()? } else { (code.index()?, true) };
        let of = Reference { at, index };
        let location = has_location.then(|| Reference::read(code)).transpose()?;
        Ok((of, location))
    }

    /// Skips what stands behind the arguments of a block.
    ///
    /// # Errors
    /// Damage.
    pub fn end_of_arguments(&self, code: &mut Cursor<'_>, count: usize) -> Result<(), ReadError> {
        if self.version >= VERSION_USES && code.byte()? != 0 {
            skip_uses(code, count)?;
        }
        Ok(())
    }
}

/// Skips the orders in which values are used.
fn skip_uses(cursor: &mut Cursor<'_>, values: usize) -> Result<(), ReadError> {
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
