//! HLO text as the message that a program is otherwise sent as. Names become ids; nothing else
//! is interpreted, so that every program goes through the one reader of messages.
//!
//! What is read: arrays and tuples without dynamic dimensions, the opcodes of `OPCODES` with
//! their attributes, aliases of results. Everything else is refused, all of it at once.
mod attribute;
mod instruction;
mod literal;
mod scan;
mod shape;

use crate::ReadError;
use crate::ops::is_elementwise;
use instruction::{Raw, attributes};
use scan::Scanner;
use std::collections::HashMap;
use tpu_proto::xla::hlo_input_output_alias_proto::AliasEntryProto;
use tpu_proto::xla::{
    HloComputationProto, HloInputOutputAliasProto, HloInstructionProto, HloModuleProto,
    ProgramShapeProto,
};

/// Opcodes besides the functions of each element, with the attributes that each must have.
const OPCODES: &[(&str, &[&str])] = &[
    ("bitcast", &[]),
    ("broadcast", &[]),
    ("call", &["to_apply"]),
    ("compare", &["direction"]),
    ("concatenate", &["dimensions"]),
    ("conditional", &[]),
    ("convolution", &["window", "dim_labels"]),
    ("copy", &[]),
    ("dot", &[]),
    ("dynamic-slice", &["dynamic_slice_sizes"]),
    ("dynamic-update-slice", &[]),
    ("fusion", &["calls"]),
    ("gather", &["offset_dims", "start_index_map", "index_vector_dim", "slice_sizes"]),
    ("get-tuple-element", &["index"]),
    ("iota", &["iota_dimension"]),
    ("map", &["to_apply"]),
    ("pad", &["padding"]),
    ("reduce", &["dimensions", "to_apply"]),
    ("reduce-precision", &["exponent_bits", "mantissa_bits"]),
    ("reduce-window", &["window", "to_apply"]),
    ("reshape", &[]),
    ("reverse", &["dimensions"]),
    ("scatter", &["scatter_dims_to_operand_dims", "index_vector_dim", "to_apply"]),
    ("select-and-scatter", &["window", "select", "scatter"]),
    ("slice", &["slice"]),
    ("sort", &["dimensions", "to_apply"]),
    ("transpose", &["dimensions"]),
    ("tuple", &[]),
    ("while", &["body", "condition"]),
];

/// Attributes of a module that change nothing about the values of a program on one device.
const WITHOUT_MEANING: &[&str] = &[
    "allow_spmd_sharding_propagation_to_output",
    "allow_spmd_sharding_propagation_to_parameters",
    "entry_computation_layout",
    "frontend_attributes",
    "is_scheduled",
];

/// Reasons against a text that are listed, at most.
const MOST: usize = 64;

/// The program of an HLO text.
///
/// # Errors
/// What is no HLO text, with line and column; everything that is not read, a line each.
pub fn parse(text: &str) -> Result<HloModuleProto, ReadError> {
    let mut at = Scanner::new(text);
    at.expect("HloModule")?;
    let mut module = HloModuleProto { name: at.name("a name")?.to_owned(), ..<_>::default() };
    let mut refused = Vec::new();
    for (name, value) in attributes(&mut at)? {
        keep(&mut refused, of_module(&mut module, name, value));
    }
    source_tables(&mut at)?;
    let mut reader = TextReader { ids: HashMap::new(), last: 0, refused };
    while at.peek()?.is_some() {
        let start = at;
        let entry = at.eat("ENTRY ")?;
        let computation = reader.computation(&mut at)?;
        if entry && module.entry_computation_id != 0 {
            return Err(start.error("a second ENTRY"));
        }
        if entry {
            module.entry_computation_id = computation.id;
        }
        module.computations.push(computation);
    }
    if let (0, [only]) = (module.entry_computation_id, &*module.computations) {
        module.entry_computation_id = only.id;
    }
    let id = module.entry_computation_id;
    let entry = module.computations.iter().find(|computation| computation.id == id);
    let entry = entry.ok_or_else(|| at.error("no computation is the ENTRY"))?;
    module.entry_computation_name.clone_from(&entry.name);
    module.host_program_shape.clone_from(&entry.program_shape);
    if reader.refused.is_empty() { Ok(module) } else { Err(reader.reasons()) }
}

/// Passes over the tables of source lines, whose rows begin with a number.
fn source_tables(at: &mut Scanner<'_>) -> Result<(), ReadError> {
    for table in ["FileNames", "FunctionNames", "FileLocations", "StackFrames"] {
        if at.eat(table)? {
            while at.peek()?.is_some_and(|c| c.is_ascii_digit()) {
                at.integer()?;
                at.value()?;
            }
        }
    }
    Ok(())
}

/// Keeps why something was refused.
fn keep(refused: &mut Vec<String>, outcome: Result<(), ReadError>) {
    refused.extend(outcome.err().map(|error| error.what));
}

fn of_module(module: &mut HloModuleProto, name: &str, value: Scanner<'_>) -> Result<(), ReadError> {
    match name {
        "input_output_alias" => {
            let entries = attribute::braced(value)?.list(alias)?;
            module.input_output_alias = Some(HloInputOutputAliasProto { entries });
            Ok(())
        }
        "replica_count" | "num_partitions" => match attribute::number(value)? {
            1 => Ok(()),
            count => Err(value.error(&format!("{name} = {count}; one device is read"))),
        },
        _ if WITHOUT_MEANING.contains(&name) => Ok(()),
        _ => Err(value.error(&format!("the attribute '{name}' of a module is not read"))),
    }
}

/// `{1}: (0, {}, may-alias)`.
fn alias(at: &mut Scanner<'_>) -> Result<AliasEntryProto, ReadError> {
    let path = |at: &mut Scanner<'_>| {
        at.expect("{")?;
        at.inside()?.list(Scanner::integer)
    };
    let output_shape_index = path(at)?;
    at.expect(":")?;
    at.expect("(")?;
    let mut inside = at.inside()?;
    let parameter_number = inside.integer()?;
    inside.expect(",")?;
    let parameter_shape_index = path(&mut inside)?;
    if inside.eat(",")? {
        inside.word("a kind of alias")?;
    }
    inside.finish()?;
    Ok(AliasEntryProto { output_shape_index, parameter_number, parameter_shape_index })
}

/// A module while it is read.
struct TextReader<'t> {
    /// Computations by name.
    ids: HashMap<&'t str, i64>,
    /// The last id that was given.
    last: i64,
    /// What is not read, a line each.
    refused: Vec<String>,
}

impl<'t> TextReader<'t> {
    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// All that was refused.
    fn reasons(&self) -> ReadError {
        ReadError::new(self.refused.join("\n"))
    }

    /// `%name (x: f32[]) -> f32[] { … }`; the types are said again by the instructions.
    fn computation(&mut self, at: &mut Scanner<'t>) -> Result<HloComputationProto, ReadError> {
        let start = *at;
        let name = at.name("a computation")?;
        if at.eat("(")? {
            at.inside()?;
            at.expect("->")?;
            shape::read(at)?;
        }
        at.expect("{")?;
        let mut inside = at.inside()?;
        // Where it runs, which is here.
        attributes(at)?;
        let mut names: HashMap<&str, i64> = HashMap::new();
        let mut instructions: Vec<HloInstructionProto> = Vec::new();
        let mut root = None;
        while inside.peek()?.is_some() {
            let raw = Raw::read(&mut inside)?;
            let id = self.next();
            let one = self.instruction(&raw, id, &names);
            if self.refused.len() > MOST {
                return Err(self.reasons());
            }
            if names.insert(raw.name, id).is_some() {
                return Err(raw.at.error(&format!("a second '{}'", raw.name)));
            }
            if raw.root && root.replace(id).is_some() {
                return Err(raw.at.error("a second ROOT"));
            }
            instructions.push(one);
        }
        let root_id = root.or(instructions.last().map(|one| one.id));
        let root_id = root_id.ok_or_else(|| start.error("a computation without instructions"))?;
        let id = self.next();
        if self.ids.insert(name, id).is_some() {
            return Err(start.error(&format!("a second computation '{name}'")));
        }
        let program_shape = Some(program_shape(&instructions, root_id));
        Ok(HloComputationProto { name: name.to_owned(), instructions, program_shape, id, root_id })
    }

    /// An instruction; what is wrong with it is kept.
    fn instruction(
        &mut self,
        raw: &Raw<'t>,
        id: i64,
        names: &HashMap<&str, i64>,
    ) -> HloInstructionProto {
        let mut one = HloInstructionProto {
            id,
            name: raw.name.to_owned(),
            opcode: raw.opcode.to_owned(),
            shape: Some(raw.shape.clone()),
            ..HloInstructionProto::default()
        };
        let outcome = operands(raw, names, &mut one);
        let read = outcome.is_ok();
        keep(&mut self.refused, outcome);
        // The attributes of an opcode that is not read are not either.
        if read {
            for &(name, value) in &raw.attributes {
                if !attribute::CALLS.contains(&name) {
                    keep(&mut self.refused, attribute::set(&mut one, name, value));
                }
            }
            let outcome = self.calls(raw, &mut one);
            keep(&mut self.refused, outcome);
        }
        one
    }

    /// The computations that an instruction applies, in the order of the message.
    fn calls(&self, raw: &Raw<'t>, one: &mut HloInstructionProto) -> Result<(), ReadError> {
        for wanted in attribute::CALLS {
            let Some((name, value)) = raw.attributes.iter().find(|(name, _)| name == wanted) else {
                continue;
            };
            let find = |at: &mut Scanner<'t>| {
                let called = at.name("a computation")?;
                let id = self.ids.get(called).copied();
                id.ok_or_else(|| at.error(&format!("no computation '{called}' stands before this")))
            };
            if *name == "branch_computations" {
                one.called_computation_ids.extend(attribute::braced(*value)?.list(find)?);
            } else {
                let mut value = *value;
                one.called_computation_ids.push(find(&mut value)?);
                value.finish()?;
            }
        }
        Ok(())
    }
}

/// What is between the parentheses, and whether opcode and attributes go together.
fn operands(
    raw: &Raw<'_>,
    names: &HashMap<&str, i64>,
    one: &mut HloInstructionProto,
) -> Result<(), ReadError> {
    match raw.opcode {
        "parameter" => one.parameter_number = attribute::number(raw.operands)?,
        "constant" => one.literal = Some(literal::read(raw.operands, &raw.shape)?),
        opcode => {
            let row = OPCODES.binary_search_by(|row| row.0.cmp(opcode)).map(|at| OPCODES[at].1);
            let required = match row {
                Ok(required) => required,
                Err(_) if is_elementwise(opcode) => &[],
                Err(_) => {
                    return Err(raw.at.error(&format!("the opcode '{opcode}' is not read")));
                }
            };
            let there = |name: &str| raw.attributes.iter().any(|(known, _)| *known == name);
            if let Some(missing) = required.iter().find(|name| !there(name)) {
                return Err(raw.at.error(&format!("{opcode} lacks its '{missing}'")));
            }
            if opcode == "dot" {
                one.dot_dimension_numbers = Some(Default::default());
            }
            for name in raw.operand_names()? {
                let id = names.get(name).copied();
                let id = id.ok_or_else(|| {
                    raw.operands.error(&format!("no instruction '{name}' stands before this"))
                })?;
                one.operand_ids.push(id);
            }
        }
    }
    Ok(())
}

fn program_shape(instructions: &[HloInstructionProto], root: i64) -> ProgramShapeProto {
    let mut parameters: Vec<&HloInstructionProto> =
        instructions.iter().filter(|one| one.opcode == "parameter").collect();
    parameters.sort_by_key(|one| one.parameter_number);
    let result = instructions.iter().find(|one| one.id == root);
    ProgramShapeProto {
        parameters: parameters.iter().filter_map(|one| one.shape.clone()).collect(),
        result: result.and_then(|one| one.shape.clone()),
        parameter_names: parameters.iter().map(|one| one.name.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_proto::Message;

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().what
    }

    /// A module of one computation.
    fn body(instructions: &str) -> String {
        format!("HloModule m\nENTRY e {{\n{instructions}\n}}")
    }

    #[test]
    fn opcodes_are_in_order() {
        assert!(OPCODES.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn a_program_with_computations_becomes_its_message() {
        let text = "HloModule sums, is_scheduled=true, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

            FileNames
            1 \"a b.py\"

            StackFrames
            1 {file_location_id=1 parent_frame_id=1}

            %plus (a: f32[], b: f32[]) -> f32[] {
              %a = f32[] parameter(0)
              %b = f32[] parameter(1)
              ROOT %plus.1 = f32[] add(f32[] %a, f32[] %b), metadata={op_name=\"x y\" source_line=3}
            }
            /* the program */
            ENTRY %main.2 (x: f32[2,3]) -> f32[2] {
              %x = f32[2,3]{1,0} parameter(0), sharding={replicated}
              %zero = f32[] constant(0) // nothing
              ROOT %sum = f32[2]{0} reduce(f32[2,3]{1,0} %x, f32[] %zero), dimensions={1}, to_apply=%plus
            }";
        let module = parse(text).unwrap();
        assert_eq!((module.name.as_str(), &*module.entry_computation_name), ("sums", "main.2"));
        let [plus, main] = &*module.computations else { panic!("two computations") };
        let reduce = main.instructions.last().unwrap();
        assert_eq!(reduce.called_computation_ids, [plus.id]);
        assert_eq!(reduce.operand_ids, [main.instructions[0].id, main.instructions[1].id]);
        assert_eq!((reduce.id, &*reduce.dimensions), (main.root_id, &[1][..]));
        assert_eq!(plus.instructions[2].metadata.as_ref().unwrap().op_name, "x y");
        let shape = module.host_program_shape.as_ref().unwrap();
        assert_eq!(shape.result.as_ref().unwrap().dimensions, [2]);
        assert!(crate::read(&module.encode_to_vec(), false).is_ok());
    }

    #[test]
    fn every_attribute_has_its_field() {
        let text = "HloModule all, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}) }
            less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER }
            twice { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0
              f = f32[4] get-tuple-element(p), index=1 ROOT t = (s32[], f32[4]) tuple(i, f) }
            never { p = (s32[], f32[4]) parameter(0) ROOT c = pred[] constant(false) }
            ENTRY e {
              x = f32[4] parameter(0)
              y = f32[8,8]{1,0} parameter(1)
              slice = f32[2,4] slice(y), slice={[0:2], [0:8:2]}
              pad = f32[7,9] pad(f32[2,4] slice, f32[] init), padding=1_2_2x3_2
              dot = f32[8,8] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}
              conv = f32[1,8,8,1] convolution(i, k), window={size=3x3 pad=1_1x1_1 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f
              sort = f32[4] sort(x), dimensions={0}, is_stable=true, to_apply=less
              init2 = (s32[], f32[4]) tuple(n, x)
              ROOT loop = (s32[], f32[4]) while(init2), condition=never, body=twice
            }";
        let text = text
            .replace("slice = f32[2,4]", "init = f32[] constant(1)\n n = s32[] constant(2)\n i = f32[1,8,8,1] reshape(y)\n k = f32[3,3,1,1] broadcast(init), dimensions={}\n slice = f32[2,4]");
        let module = parse(&text).unwrap();
        let entry = module.computations.last().unwrap();
        let of = |name: &str| entry.instructions.iter().find(|one| one.name == name).unwrap();
        let strided = of("slice").slice_dimensions[1];
        assert_eq!((strided.start, strided.limit, strided.stride), (0, 8, 2));
        let padding = of("pad").padding_config.as_ref().unwrap().dimensions[0];
        assert_eq!((padding.edge_padding_high, padding.interior_padding), (2, 2));
        let conv = of("conv").convolution_dimension_numbers.as_ref().unwrap();
        assert_eq!(conv.kernel_output_feature_dimension, 3);
        assert_eq!(conv.input_spatial_dimensions, [1, 2]);
        let window = &of("conv").window.as_ref().unwrap().dimensions;
        assert_eq!((window[1].size, window[0].stride, window[1].window_reversal), (3, 1, true));
        assert_eq!(of("dot").precision_config.as_ref().unwrap().operand_precision, [2, 0]);
        // The body comes first, whatever the text says first.
        let named: Vec<i64> = module.computations.iter().map(|one| one.id).collect();
        assert_eq!(of("loop").called_computation_ids, [named[1], named[2]]);
        assert_eq!(module.input_output_alias.unwrap().entries[1].parameter_number, 1);
    }

    #[test]
    fn all_that_is_not_read_is_said_at_once() {
        let text = body(
            "a = f32[2] parameter(0)\n b = f32[2] all-reduce(a), to_apply=sum\n \
             c = f32[2] add(a, d)\n e = f32[2] negate(a), tricky=yes\n \
             f = f32[1] slice(a)\n ROOT g = c64[] constant((1, 2))",
        );
        let lines = refused(&text);
        let wanted = [
            "line 4, column 2: the opcode 'all-reduce' is not read",
            "line 5, column 17: no instruction 'd' stands before this",
            "line 6, column 31: the attribute 'tricky' is not read",
            "line 7, column 2: slice lacks its 'slice'",
            "line 8, column 26: constants of type c64 are not read from text",
        ];
        assert_eq!(lines.lines().collect::<Vec<_>>(), wanted);
    }

    fn with_header(attribute: &str) -> String {
        body("a = f32[] parameter(0)").replacen("m\n", &format!("m, {attribute}\n"), 1)
    }

    #[test]
    fn broken_texts_are_refused_with_their_place() {
        for (text, why) in [
            ("", "the end where 'HloModule'"),
            ("HloModule", "the end where a name"),
            ("HloModule m", "no computation is the ENTRY"),
            (&with_header("replica_count=2"), "replica_count = 2"),
            (&with_header("wrong=2"), "the attribute 'wrong' of a module"),
            ("HloModule m a {", "a bracket that nothing closes"),
            (&body(""), "a computation without instructions"),
            (&body("a = f32[] parameter(0) a = f32[] parameter(1)"), "a second 'a'"),
            (&body("a = f32[] call(), to_apply=e"), "no computation 'e' stands before this"),
            (&body("a = f32[] add(a, a"), "a bracket that nothing"),
        ] {
            let error = refused(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn no_beginning_of_a_text_panics() {
        let text = body(
            "a = (f32[2]{0}, s32[]) parameter(0), metadata={op_name=\"ä\"}\n b = f32[2,2] constant({ {1, 2}, {3, nan} })",
        );
        for (end, _) in text.char_indices() {
            let _ = parse(&text[..end]);
            let _ = parse(&text[end..]);
            let _ = parse(&format!("{}{{\"{}", &text[..end], &text[end..]));
        }
        let many = body(&"x = f32[] what()\n".repeat(1000).replace('x', "x.1"));
        assert!(refused(&many).contains("a second 'x.1'"));
    }
}
