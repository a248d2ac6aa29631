//! Attributes of the dialects: StableHLO's structs and words, Shardy's, and the rest as text.
use super::Parser;
use super::attributes::{Parsed, scalar_type};
use super::cursor::Result;
use super::dense::bits;
use crate::float;
use crate::ir::{Attribute, Attributes, Element, OutputAlias};

/// What a field of a struct holds, and what it is if it is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// A list; empty.
    List,
    /// A number; zero.
    Number,
    /// A type; must be there.
    Type,
    /// A boolean; false.
    Flag,
}

/// A struct of StableHLO: its name, the attribute that holds it, and its fields. Names of fields
/// are those that VHLO gives the flat attributes.
pub(crate) struct Struct {
    pub(crate) name: &'static str,
    pub(crate) attribute: &'static str,
    pub(crate) fields: &'static [(&'static str, Field)],
}

/// Every struct that dissolves by fields alone.
pub(crate) const STRUCTS: &[Struct] = &[
    Struct {
        name: "gather",
        attribute: "dimension_numbers",
        fields: &[
            ("offset_dims", Field::List),
            ("collapsed_slice_dims", Field::List),
            ("operand_batching_dims", Field::List),
            ("start_indices_batching_dims", Field::List),
            ("start_index_map", Field::List),
            ("index_vector_dim", Field::Number),
        ],
    },
    Struct {
        name: "scatter",
        attribute: "scatter_dimension_numbers",
        fields: &[
            ("update_window_dims", Field::List),
            ("inserted_window_dims", Field::List),
            ("input_batching_dims", Field::List),
            ("scatter_indices_batching_dims", Field::List),
            ("scatter_dims_to_operand_dims", Field::List),
            ("index_vector_dim", Field::Number),
        ],
    },
    Struct {
        name: "dot",
        attribute: "dot_dimension_numbers",
        fields: &[
            ("lhs_batching_dimensions", Field::List),
            ("rhs_batching_dimensions", Field::List),
            ("lhs_contracting_dimensions", Field::List),
            ("rhs_contracting_dimensions", Field::List),
        ],
    },
    Struct {
        name: "ragged_dot",
        attribute: "ragged_dot_dimension_numbers",
        fields: &[
            ("lhs_batching_dimensions", Field::List),
            ("rhs_batching_dimensions", Field::List),
            ("lhs_contracting_dimensions", Field::List),
            ("rhs_contracting_dimensions", Field::List),
            ("lhs_ragged_dimensions", Field::List),
            ("rhs_group_dimensions", Field::List),
        ],
    },
    Struct {
        name: "dot_algorithm",
        attribute: "algorithm",
        fields: &[
            ("lhs_precision_type", Field::Type),
            ("rhs_precision_type", Field::Type),
            ("accumulation_type", Field::Type),
            ("lhs_component_count", Field::Number),
            ("rhs_component_count", Field::Number),
            ("num_primitive_operations", Field::Number),
            ("allow_imprecise_accumulation", Field::Flag),
        ],
    },
];

/// The struct with this name.
pub(crate) fn find(name: &str) -> Option<&'static Struct> {
    STRUCTS.iter().find(|known| known.name == name)
}

impl Parser<'_> {
    /// The rest of `#name<…>`, whose text starts at `start`.
    pub(super) fn dialect_attribute(&mut self, name: &str, start: usize) -> Result<Parsed> {
        let (dialect, kind) = name.split_once('.').unwrap_or((name, ""));
        if matches!(dialect, "stablehlo" | "chlo" | "mhlo") {
            return self.hlo_attribute(kind, start);
        }
        if dialect == "sdy" {
            return self.sdy_attribute(kind, start).map(Parsed::Value);
        }
        self.opaque(start)
    }

    /// The text of an attribute, from `start` over the brackets that stand next.
    fn opaque(&mut self, start: usize) -> Result<Parsed> {
        if self.cursor.here() == Some(b'<') {
            self.cursor.balanced()?;
        }
        let text = self.cursor.slice(start, self.cursor.position()).trim_start_matches('#');
        Ok(Attribute::Opaque(text.into()).into())
    }

    fn hlo_attribute(&mut self, kind: &str, start: usize) -> Result<Parsed> {
        if let Some(known) = find(kind) {
            return self.struct_fields(known).map(Parsed::Struct);
        }
        match kind {
            // `#stablehlo<precision HIGHEST>`
            "" => {
                self.cursor.expect("<")?;
                self.cursor.word("the name of an enumeration")?;
                let word = self.cursor.word("a word of the enumeration")?.to_owned();
                self.cursor.expect(">")?;
                Ok(Attribute::Word(word.into()).into())
            }
            "conv" => {
                self.cursor.expect("<")?;
                let numbers = if self.cursor.eat_word("raw") {
                    self.raw_convolution()?
                } else {
                    self.convolution_numbers()?
                };
                self.cursor.expect(">")?;
                Ok(Parsed::Struct(numbers))
            }
            "channel_handle" => self.channel_handle().map(Parsed::Struct),
            "output_operand_alias" => self.output_alias().map(Parsed::Value),
            "replica_group_mesh_axes" => {
                self.replica_group_mesh_axes().map(|groups| Attribute::MeshAxes(groups).into())
            }
            "result_accuracy" => self.result_accuracy().map(Parsed::Value),
            "result_accuracy_mode" => {
                self.cursor.expect("<")?;
                let word = self.cursor.word("a mode")?.to_owned();
                self.cursor.expect(">")?;
                Ok(Attribute::Word(word.into()).into())
            }
            _ => self.opaque(start),
        }
    }

    /// `<name = value, …>`; a field that is not written has its default.
    pub(super) fn struct_fields(&mut self, of: &Struct) -> Result<Attributes> {
        self.cursor.skip();
        let at = self.cursor.position();
        let mut found = Attributes::default();
        self.struct_body(|parser, name| {
            let Some(&(name, field)) = of.fields.iter().find(|(known, _)| *known == name) else {
                return parser.cursor.error(format!("{} has no field {name}", of.name));
            };
            let value = match field {
                Field::List => Attribute::Integers(parser.cursor.integers()?),
                Field::Number => Attribute::Integer(parser.cursor.integer()?.into(), Element::S64),
                Field::Type => scalar_type(parser.element()?),
                Field::Flag => parser.boolean()?,
            };
            found.set(name, value);
            Ok(())
        })?;
        let mut fields = Attributes::default();
        for &(name, field) in of.fields {
            let value = match (found.get(name), field) {
                (Some(value), _) => value.clone(),
                (None, Field::List) => Attribute::Integers(Vec::new()),
                (None, Field::Number) => Attribute::Integer(0, Element::S64),
                (None, Field::Flag) => Attribute::Bool(false),
                (None, Field::Type) => {
                    return Err(self
                        .cursor
                        .error_at(at, format!("{} lacks its field {name}", of.name)));
                }
            };
            fields.set(name, value);
        }
        Ok(fields)
    }

    fn boolean(&mut self) -> Result<Attribute> {
        if self.cursor.eat_word("true") {
            return Ok(Attribute::Bool(true));
        }
        self.cursor.expect_word("false")?;
        Ok(Attribute::Bool(false))
    }

    /// `<name = …, …>` with a function for what follows the `=`.
    fn struct_body(&mut self, mut field: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.cursor.expect("<")?;
        let mut seen: Vec<&str> = Vec::new();
        while !self.cursor.eat(">") {
            let name = self.cursor.word("a field's name")?;
            if seen.contains(&name) {
                return self.cursor.error(format!("the field {name} is given twice"));
            }
            seen.push(name);
            self.cursor.expect("=")?;
            field(self, name)?;
            if !self.cursor.eat(",") && !self.cursor.sees(">") {
                return self.cursor.expected("',' or '>'");
            }
        }
        Ok(())
    }

    fn channel_handle(&mut self) -> Result<Attributes> {
        let mut fields = Attributes::default();
        self.struct_body(|parser, name| {
            let name = match name {
                "handle" => "channel_id",
                "type" => "channel_type",
                _ => return parser.cursor.error(format!("channel_handle has no field {name}")),
            };
            fields.set(name, Attribute::Integer(parser.cursor.integer()?.into(), Element::S64));
            Ok(())
        })?;
        Ok(fields)
    }

    fn output_alias(&mut self) -> Result<Attribute> {
        let mut alias = OutputAlias { output: Vec::new(), operand: 0, operand_path: Vec::new() };
        self.struct_body(|parser, name| {
            match name {
                "output_tuple_indices" => alias.output = parser.cursor.integers()?,
                "operand_index" => alias.operand = parser.cursor.integer()?,
                "operand_tuple_indices" => alias.operand_path = parser.cursor.integers()?,
                _ => {
                    return parser
                        .cursor
                        .error(format!("output_operand_alias has no field {name}"));
                }
            }
            Ok(())
        })?;
        Ok(Attribute::OutputAlias(alias))
    }

    /// `<atol = …, rtol = …, ulps = …, mode = …>` as a dictionary of the four.
    fn result_accuracy(&mut self) -> Result<Attribute> {
        let mut fields = Attributes(vec![
            ("atol".into(), Attribute::Float(0.0, Element::F64)),
            ("rtol".into(), Attribute::Float(0.0, Element::F64)),
            ("ulps".into(), Attribute::Integer(0, Element::S64)),
            ("mode".into(), Attribute::Word("DEFAULT".into())),
        ]);
        self.struct_body(|parser, name| {
            let value = match name {
                "mode" => parser.attribute()?,
                "ulps" => Attribute::Integer(parser.cursor.integer()?.into(), Element::S64),
                "atol" | "rtol" => {
                    let text = parser.cursor.number()?;
                    let value = bits(text, Element::F64);
                    match value.and_then(|bits| float::decode(bits, Element::F64)) {
                        Some(value) => Attribute::Float(value, Element::F64),
                        None => return parser.cursor.error(format!("'{text}' is no number")),
                    }
                }
                _ => return parser.cursor.error(format!("result_accuracy has no field {name}")),
            };
            fields.set(name.to_owned(), value);
            Ok(())
        })?;
        Ok(Attribute::Dictionary(fields))
    }
}
