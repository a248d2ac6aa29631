//! Properties: attributes that have their own encoding for each operation.
use super::table::{brief, unknown};
use super::{BytecodeReader, Cursor, Node};
use crate::ReadError;
use crate::ir::{Attribute, Attributes, Name};
use crate::vhlo;
use tpu_mlir::builtin::Reference;
use tpu_mlir::names::OperationName;
use tpu_mlir::operation::RawOperation;

/// Operations beside VHLO with the names of their attributes in the order of the encoding. Those
/// with a question mark may be left out: a flag stands beside their index. An operation that
/// gained attributes has several rows, told apart by the number of attributes.
const ROWS: &[(&str, &str, &[&str])] = &[
    ("builtin", "module", &["sym_name?", "sym_visibility?"]),
    ("chlo", "_", &["broadcast_dimensions?"]),
    ("chlo", "broadcast_compare", COMPARISON),
    ("chlo", "constant", &["value"]),
    ("chlo", "constant_like", &["value"]),
    ("chlo", "ragged_dot", &["precision_config?", "ragged_dot_dimension_numbers"]),
    ("chlo", "top_k", &["k"]),
    ("chlo", "top_k", &["is_stable?", "k"]),
    ("func", "call", &["callee"]),
    ("func", "call", &["callee", "no_inline?"]),
    ("func", "call", &["arg_attrs?", "callee", "res_attrs?"]),
    ("func", "call", &["arg_attrs?", "callee", "no_inline?", "res_attrs?"]),
    ("func", "func", &["arg_attrs?", "function_type", "res_attrs?", "sym_name", "sym_visibility?"]),
    (
        "func",
        "func",
        &["arg_attrs?", "function_type", "no_inline?", "res_attrs?", "sym_name", "sym_visibility?"],
    ),
    ("sdy", "all_gather", &["gathering_axes", "out_sharding"]),
    ("sdy", "all_reduce", &["out_sharding", "reduction_axes"]),
    ("sdy", "all_slice", &["out_sharding", "slicing_axes"]),
    ("sdy", "all_to_all", &["out_sharding", "params"]),
    ("sdy", "collective_permute", &["out_sharding"]),
    ("sdy", "constant", &["value"]),
    ("sdy", "manual_computation", &["in_shardings", "manual_axes", "out_shardings"]),
    ("sdy", "mesh", &["mesh", "sym_name"]),
    ("sdy", "named_computation", &["in_shardings?", "name", "out_shardings?"]),
    ("sdy", "propagation_barrier", &["allowed_direction"]),
    ("sdy", "reduce_scatter", &["out_sharding", "reduce_scatter_axes"]),
    ("sdy", "reshard", &["sharding"]),
    ("sdy", "sharding_constraint", &["sharding"]),
    ("sdy", "sharding_group", &["group_id"]),
];

const COMPARISON: &[&str] = &["broadcast_dimensions?", "compare_type?", "comparison_direction"];

impl BytecodeReader<'_> {
    /// The attributes of an operation: its properties, then the others.
    pub(crate) fn operation_attributes(
        &mut self,
        raw: &RawOperation<'_>,
        row: Option<&'static vhlo::VersionRow>,
    ) -> Result<Attributes, ReadError> {
        let name = raw.name;
        let dictionary = match raw.dictionary {
            Some(of) => self.dictionary(of, row)?,
            None => Vec::new(),
        };
        let mut attributes = Attributes::default();
        match raw.properties {
            Some(of) if !name.registered => attributes.0 = self.dictionary(of, row)?,
            Some(Reference { at, index }) => {
                let Some(&blob) = self.file.properties.get(index) else {
                    let what = format!("properties {index} of {}", self.file.properties.len());
                    return Err(ReadError::at(at, what));
                };
                self.property_list(blob, name, row, &mut attributes)?;
            }
            None => {}
        }
        let end = raw.properties.or(raw.dictionary).map_or(raw.at, |of| of.at);
        for (key, value) in dictionary {
            if attributes.get(&key).is_some() {
                let what = format!("the attribute {key} of {} is given twice", name.mnemonic);
                return Err(ReadError::at(end, what));
            }
            attributes.0.push((key, value));
        }
        if let Some(row) = row {
            vhlo::upgrade(row, &mut attributes);
        }
        if name.dialect == "chlo" {
            self.dissolve(end, &mut attributes)?;
        }
        Ok(attributes)
    }

    /// The properties of an operation.
    fn property_list(
        &mut self,
        mut blob: Cursor<'_>,
        name: OperationName<'_>,
        row: Option<&'static vhlo::VersionRow>,
        attributes: &mut Attributes,
    ) -> Result<(), ReadError> {
        let at = blob.at();
        let OperationName { dialect, mnemonic, .. } = name;
        if let Some(row) = row {
            for &key in row.attributes {
                let at = blob.at();
                let node = self.node(&mut blob)?;
                if let Some(value) = self.property(at, Some(row), key, node)? {
                    attributes.0.push((Name::Borrowed(key), value));
                }
            }
            return blob.finish("the properties of an operation");
        }
        let mut numbers = blob;
        let mut count = 0;
        while !numbers.is_empty() {
            numbers.varint()?;
            count += 1;
        }
        let fits = |row: &&(&str, &str, &[&str])| {
            // The other operations of chlo that broadcast are alike.
            let broadcast = row.1 == "_" && mnemonic.starts_with("broadcast_");
            row.0 == dialect && (row.1 == mnemonic || broadcast) && row.2.len() == count
        };
        let Some((.., names)) = ROWS.iter().find(fits) else {
            let what = format!("operation {dialect}.{mnemonic} with {count} properties");
            return Err(ReadError::at(at, what));
        };
        for key in *names {
            let at = blob.at();
            let (key, node) = match key.strip_suffix('?') {
                Some(key) => (key, self.optional_node(&mut blob)?),
                None => (*key, Some(self.node(&mut blob)?)),
            };
            let Some(node) = node else { continue };
            if let Some(value) = self.listed(at, node)? {
                attributes.0.push((Name::Borrowed(key), value));
            }
        }
        blob.finish("the properties of an operation")
    }

    /// A dictionary.
    fn dictionary(
        &mut self,
        Reference { at, index }: Reference,
        row: Option<&'static vhlo::VersionRow>,
    ) -> Result<Vec<(Name, Attribute)>, ReadError> {
        // The value of a constant stays an array, so the entry's own parts are wanted.
        if let Some(row) = row.filter(|row| row.attributes == ["value"]) {
            return self.raw_dictionary(at, index, row);
        }
        match self.node_at(at, index)? {
            Node::Attribute(Attribute::Dictionary(named)) => Ok(named.0),
            other => {
                Err(ReadError::at(at, format!("{} where a dictionary was expected", brief(&other))))
            }
        }
    }

    fn raw_dictionary(
        &mut self,
        at: usize,
        index: usize,
        row: &'static vhlo::VersionRow,
    ) -> Result<Vec<(Name, Attribute)>, ReadError> {
        let Some(entry) = self.file.attributes.get(index) else {
            return Err(unknown(at, "attribute", index, self.file.attributes.len()));
        };
        let mut data = entry.data;
        if entry.dialect != "builtin" || !entry.encoded || data.varint()? != 1 {
            return Err(data.error("another attribute where a dictionary was expected"));
        }
        let mut named = Vec::new();
        for _ in 0..data.count()? {
            let key = self.text_attribute(&mut data)?;
            let at = data.at();
            let node = self.node(&mut data)?;
            if let Some(value) = self.property(at, Some(row), &key, node)? {
                named.push((Name::Owned(key.to_string()), value));
            }
        }
        data.finish("a dictionary")?;
        Ok(named)
    }

    /// A node as the value of a property: the value of a constant stays an array.
    fn property(
        &mut self,
        at: usize,
        row: Option<&'static vhlo::VersionRow>,
        key: &str,
        node: Node,
    ) -> Result<Option<Attribute>, ReadError> {
        match node {
            Node::Attribute(Attribute::Elements(elements))
                if key == "value" && row.is_some_and(|row| row.name == "stablehlo.constant") =>
            {
                Ok(Some(Attribute::Elements(elements)))
            }
            other => self.listed(at, other),
        }
    }
}
