//! Reads a kernel's module from MLIR bytecode whose operations are those of `stable_mosaic`.
//!
//! The input is not trusted: see `tpu-mlir`. What is damaged ends the reading; what is not known or
//! contradicts itself is collected, so that all of it is told at once.
mod assembly;
mod check;
mod code;
mod entries;
mod kernel;
mod structure;
mod upgrade;

use crate::error::{Error, Refusal};
use crate::ir::{Attribute, CoreType, LocationId, Locations, Module, Type, user_line};
use std::collections::BTreeSet;
use tpu_mlir::budget::Budget;
use tpu_mlir::builtin::{RawAttribute, Reference};
use tpu_mlir::container::File;
use tpu_mlir::{Cursor, ReadError};

pub use upgrade::NEWEST;

/// How many refusals are told; a damaged module could have one for each of its bytes.
const REFUSALS: usize = 256;

/// What is behind the name of every operation but the module.
const PREFIX: &str = "stable_mosaic";

/// Reads a module, which is upgraded to the newest format.
///
/// `debug_locations` is the second module that JAX since 0.12 puts beside the first: the locations
/// of the first one's operations.
///
/// # Errors
/// What is damaged, with its offset; or everything that is unknown or invalid, with its line.
pub fn read(body: &[u8], debug_locations: Option<&[u8]>) -> Result<Module, Error> {
    let (file, code) = File::open(body)?;
    let places = debug_locations.map(Places::read).transpose()?;
    let mut reader = Reader {
        budget: Budget::new(body.len()),
        attributes: (0..file.attributes.len()).map(|_| None).collect(),
        types: (0..file.types.len()).map(|_| None).collect(),
        file,
        places,
        format: 0,
        core: None,
        found: BTreeSet::new(),
        refusals: Vec::new(),
    };
    let module = reader.module(code);
    let locations = match &mut reader.places {
        Some(places) => std::mem::take(&mut places.locations),
        None => std::mem::take(&mut reader.file.locations),
    };
    let mut refusals = std::mem::take(&mut reader.refusals);
    let mut module = match module {
        Ok(module) => module,
        // What was not known before the damage says more than the damage.
        Err(Error::Damaged(_)) if !refusals.is_empty() => {
            return Err(Error::Refused(located(&locations, refusals)));
        }
        Err(error) => return Err(error),
    };
    module.locations = locations;
    refusals.extend(structure::check(&module, refusals.is_empty()));
    refusals.truncate(REFUSALS);
    if refusals.is_empty() {
        return Ok(module);
    }
    Err(Error::Refused(located(&module.locations, refusals)))
}

fn located(locations: &Locations, refusals: Vec<(String, LocationId)>) -> Vec<Refusal> {
    let tell = |(what, id)| Refusal {
        what,
        line: user_line(locations, id),
        location: locations.to_mlir(id),
    };
    refusals.into_iter().map(tell).collect()
}

/// Locations that came beside the module: of each operation before those inside of it, with the
/// arguments of a block before its operations.
#[derive(Debug)]
struct Places {
    locations: Locations,
    ids: std::vec::IntoIter<LocationId>,
}

impl Places {
    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let (mut file, mut code) = File::open(bytes)?;
        let wrong = |at: usize| ReadError::at(at, "a module of locations without tpu.locs");
        let (operations, _) = code.flagged()?;
        if operations != 1 {
            return Err(wrong(code.at()).into());
        }
        let root = file.operation(&mut code)?;
        let dictionary = root.dictionary.ok_or_else(|| wrong(root.at))?;
        let RawAttribute::Dictionary(named) = raw(&file, dictionary)? else {
            return Err(wrong(dictionary.at).into());
        };
        for (key, value) in named {
            let RawAttribute::String(b"tpu.locs") = raw(&file, key)? else { continue };
            let RawAttribute::Array(items) = raw(&file, value)? else { continue };
            let ids = items.iter().map(|item| file.location_at(item.at, item.index));
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            let locations = std::mem::take(&mut file.locations);
            return Ok(Self { locations, ids: ids.into_iter() });
        }
        Err(wrong(dictionary.at).into())
    }
}

/// An attribute of the builtin dialect as it is encoded.
fn raw<'a>(file: &File<'a>, of: Reference) -> Result<RawAttribute<'a>, ReadError> {
    match file.attributes.get(of.index) {
        Some(entry) if entry.encoded && entry.dialect == "builtin" => {
            RawAttribute::read(&mut entry.data.clone(), &file.strings)
        }
        Some(_) => Err(ReadError::at(of.at, format!("attribute {} is not builtin", of.index))),
        None => {
            Err(tpu_mlir::container::unknown(of.at, "attribute", of.index, file.attributes.len()))
        }
    }
}

/// Everything that decoding needs.
#[derive(Debug)]
struct Reader<'a> {
    file: File<'a>,
    places: Option<Places>,
    budget: Budget,
    /// Attributes that were decoded, and what each further use costs.
    attributes: Vec<Option<(Attribute, usize)>>,
    /// Types, likewise.
    types: Vec<Option<(Type, usize)>>,
    /// The version of the module's format.
    format: i64,
    /// Where the function runs that is read.
    core: Option<CoreType>,
    found: BTreeSet<(LocationId, String)>,
    refusals: Vec<(String, LocationId)>,
}

impl<'a> Reader<'a> {
    /// Keeps what is wrong, once for each place.
    fn refuse(&mut self, location: LocationId, what: impl Into<String>) {
        let what = what.into();
        if self.refusals.len() < REFUSALS && self.found.insert((location, what.clone())) {
            self.refusals.push((what, location));
        }
    }

    /// The location of the next operation or argument.
    fn place(&mut self, of: Option<Reference>) -> Result<LocationId, ReadError> {
        if let Some(places) = &mut self.places {
            return Ok(places.ids.next().unwrap_or(LocationId::UNKNOWN));
        }
        match of {
            Some(of) => self.file.location_at(of.at, of.index),
            None => Ok(LocationId::UNKNOWN),
        }
    }

    /// Reads the section of the code.
    fn module(&mut self, mut code: Cursor<'a>) -> Result<Module, Error> {
        let (operations, has_arguments) = code.flagged()?;
        if operations != 1 || has_arguments {
            return Err(code.error(format!("{operations} operations beside the module")).into());
        }
        let root = self.file.operation(&mut code)?;
        if (root.name.dialect, root.name.mnemonic) != ("builtin", "module") {
            let (dialect, mnemonic) = (root.name.dialect, root.name.mnemonic);
            let what = format!("{dialect}.{mnemonic} where a module was expected");
            return Err(ReadError::at(root.at, what).into());
        }
        let location = self.place(Some(root.location))?;
        let mut attributes = self.dictionary(root.dictionary)?;
        let version = attributes.take("stable_mosaic.version");
        let version = version.as_ref().and_then(Attribute::integer);
        self.format = version.ok_or_else(|| {
            ReadError::at(root.at, "a module without stable_mosaic.version: it is not serialized")
        })?;
        if self.format > NEWEST {
            return Err(Error::Newer { version: self.format, newest: NEWEST });
        }
        if self.format < 1 {
            let what = format!("a module of format {}", self.format);
            return Err(ReadError::at(root.at, what).into());
        }
        let name = attributes.take("sym_name").as_ref().and_then(Attribute::text).cloned();
        attributes.take("sym_visibility");
        for (key, value) in &attributes.0 {
            if !key.starts_with("tpu.dynamic_dimension_mapping_") {
                self.refuse(location, format!("the attribute {key} of the module"));
            } else if let Some(text) = check::unknown_attribute(value) {
                self.refuse(location, format!("the attribute {key} of the module: {text}"));
            }
        }
        let mut module = Module { name, format: self.format, attributes, ..Module::default() };
        if root.has_successors || root.regions != 1 {
            let what = format!("a module with {} regions", root.regions);
            return Err(ReadError::at(root.at, what).into());
        }
        let mut inner = self.file.regions_of(&mut code, root.at, root.isolated)?;
        let inside = inner.as_mut().unwrap_or(&mut code);
        let blocks = inside.count()?;
        if blocks != 1 || inside.count()? != 0 {
            return Err(inside.error(format!("a module with {blocks} blocks, or values")).into());
        }
        let (operations, has_arguments) = inside.flagged()?;
        if has_arguments {
            return Err(inside.error("a module with arguments").into());
        }
        for _ in 0..operations {
            let function = self.function(inside)?;
            module.functions.push(function);
        }
        inside.finish("the module")?;
        code.finish("the code")?;
        Ok(module)
    }
}
