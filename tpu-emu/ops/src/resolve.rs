//! What an operation of a module is: its name is looked at here and nowhere else.
use super::{Entry, OPS, OTHERS, TOP_K, custom};
use crate::tuning::NAME_PLACES;
use tpu_stablehlo::ir::{Attribute, Attributes, Operation};

/// What an operation of a module is.
#[derive(Debug, Clone, Copy)]
pub enum Operator {
    /// One that the compiler takes apart itself.
    Structural(Structural),
    /// A row of the tables.
    Row(&'static Entry),
    /// A custom call of a target that the machine does not know itself.
    Registered,
    /// One that nobody knows.
    Unknown,
}

/// An operation that has no shapes to infer and no code: it is inlined, planned, or looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structural {
    /// A call of a function.
    Call,
    /// A function that stands for an operation: its decomposition is called.
    Composite,
    /// A loop.
    While,
    /// A choice by a boolean.
    If,
    /// A choice by a number.
    Case,
    /// Several values as one.
    Tuple,
    /// One of several values.
    GetTupleElement,
    /// A region that runs once per device.
    ManualComputation,
    /// A region that has a name.
    NamedComputation,
    /// Values as they are under other types.
    ConversionCast,
    /// The end of a function.
    Return,
    /// The end of a region of an operation.
    Yield,
}

/// The operations that the compiler takes apart itself, by name.
pub const STRUCTURAL: &[(&str, Structural)] = &[
    ("builtin.unrealized_conversion_cast", Structural::ConversionCast),
    ("func.call", Structural::Call),
    ("func.return", Structural::Return),
    ("mhlo.case", Structural::Case),
    ("mhlo.composite", Structural::Composite),
    ("mhlo.get_tuple_element", Structural::GetTupleElement),
    ("mhlo.if", Structural::If),
    ("mhlo.return", Structural::Yield),
    ("mhlo.tuple", Structural::Tuple),
    ("mhlo.while", Structural::While),
    ("sdy.manual_computation", Structural::ManualComputation),
    ("sdy.named_computation", Structural::NamedComputation),
    ("sdy.return", Structural::Yield),
    ("stablehlo.case", Structural::Case),
    ("stablehlo.composite", Structural::Composite),
    ("stablehlo.get_tuple_element", Structural::GetTupleElement),
    ("stablehlo.if", Structural::If),
    ("stablehlo.return", Structural::Yield),
    ("stablehlo.tuple", Structural::Tuple),
    ("stablehlo.while", Structural::While),
];

/// The dialects whose operations the tables have without them.
const DIALECTS: [&str; 3] = ["stablehlo.", "chlo.", "mhlo."];

/// The end of a region, as the compiler writes it.
pub const YIELD: &str = "stablehlo.return";

/// A call of a function, as the compiler writes it.
pub const CALL: &str = "func.call";

/// Code that runs once per device, as the compiler writes it.
pub const MANUAL_COMPUTATION: &str = "sdy.manual_computation";

/// The end of such code.
pub const MANUAL_YIELD: &str = "sdy.return";

/// A custom call, as the compiler writes it.
pub const CUSTOM_CALL: &str = "stablehlo.custom_call";

/// The name under which programs have an operation of the tables.
pub fn full_name(entry: &Entry) -> String {
    format!("stablehlo.{}", entry.mnemonic)
}

impl Operator {
    /// What an operation is.
    pub fn of(operation: &Operation) -> Self {
        if is_custom_call(operation) {
            return custom::find(name_of(operation)).map_or(Self::Registered, Self::Row);
        }
        let name: &str = &operation.name;
        let mnemonic = DIALECTS.iter().find_map(|dialect| name.strip_prefix(dialect));
        if let Some(row) = mnemonic.and_then(find).or_else(|| find(name)) {
            return Self::Row(row);
        }
        let structural = STRUCTURAL.iter().find(|(known, _)| *known == name);
        structural.map_or(Self::Unknown, |&(_, structural)| Self::Structural(structural))
    }

    /// Whether an operation is this row of the tables.
    pub fn is(self, entry: &Entry) -> bool {
        self.row().is_some_and(|row| row.mnemonic == entry.mnemonic)
    }

    /// The row of the tables.
    pub fn row(self) -> Option<&'static Entry> {
        match self {
            Self::Row(entry) => Some(entry),
            Self::Structural(_) | Self::Registered | Self::Unknown => None,
        }
    }
}

fn is_custom_call(operation: &Operation) -> bool {
    operation.name.ends_with(".custom_call")
}

/// The name by which errors and reports call an operation.
pub fn name_of(operation: &Operation) -> &str {
    let target = is_custom_call(operation).then(|| operation.attributes.text("call_target_name"));
    target.flatten().unwrap_or(&operation.name)
}

/// The name of the function that a call or a composite stands for.
pub fn callee(operation: &Operation) -> Option<&str> {
    match Operator::of(operation) {
        Operator::Structural(Structural::Call) => operation.attributes.text("callee"),
        Operator::Structural(Structural::Composite) => operation.attributes.text("decomposition"),
        _ => None,
    }
}

/// The attributes of a composite that frameworks send for CHLO's `top_k`: its decomposition sorts
/// whole rows.
pub fn top_k(operation: &Operation) -> Option<&Attributes> {
    let attributes = &operation.attributes;
    let name = attributes.text("name").and_then(|name| name.strip_prefix("chlo."));
    let named = name == Some(TOP_K.mnemonic)
        && matches!(Operator::of(operation), Operator::Structural(Structural::Composite));
    match attributes.get("composite_attributes") {
        Some(Attribute::Dictionary(inner)) if named && inner.get("k").is_some() => Some(inner),
        _ => None,
    }
}

/// The index of the row at each place, one more than it: zero where there is none.
static PLACE: [u8; NAME_PLACES] = places();

/// Where a name's row is, or one of the places before it.
const fn first_place(name: &[u8]) -> usize {
    let length = name.len();
    if length == 0 {
        return 0;
    }
    let [first, middle, near, last] =
        [name[0], name[length / 2], name[length - 1 - length / 4], name[length - 1]];
    let near_ends = first as usize * 37 + last as usize * 5;
    (length * 211 + near_ends + middle as usize * 131 + near as usize * 67) % NAME_PLACES
}

const fn places() -> [u8; NAME_PLACES] {
    assert!(OPS.len() < 256);
    let mut places = [0; NAME_PLACES];
    let mut index = 0;
    while index < OPS.len() {
        let mut place = first_place(OPS[index].mnemonic.as_bytes());
        while places[place] > 0 {
            place = (place + 1) % NAME_PLACES;
        }
        index += 1;
        places[place] = index.to_le_bytes()[0];
    }
    places
}

/// The row among [`OPS`] with this name.
fn find_own(name: &str) -> Option<&'static Entry> {
    let mut place = first_place(name.as_bytes());
    loop {
        let index = usize::from(PLACE[place]).checked_sub(1)?;
        if OPS[index].mnemonic == name {
            return Some(OPS[index]);
        }
        place = (place + 1) % NAME_PLACES;
    }
}

/// The row of an operation, by its name: StableHLO's and CHLO's without the dialect.
pub fn find(mnemonic: &str) -> Option<&'static Entry> {
    let other = || OTHERS.iter().copied().flatten().find(|entry| entry.mnemonic == mnemonic);
    find_own(mnemonic).or_else(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_stablehlo::ir::LocationId;

    fn operation(name: &'static str, attributes: &[(&'static str, &str)]) -> Operation {
        let text = |(name, text): &(&'static str, &str)| ((*name).into(), Attribute::string(text));
        Operation {
            name: name.into(),
            operands: Vec::new(),
            results: Vec::new(),
            attributes: Attributes(attributes.iter().map(text).collect()),
            regions: Vec::new(),
            location: LocationId::UNKNOWN,
        }
    }

    fn mnemonic(name: &'static str) -> Option<&'static str> {
        Operator::of(&operation(name, &[])).row().map(|entry| entry.mnemonic)
    }

    #[test]
    fn a_dialect_has_operations_of_its_own() {
        assert_eq!(mnemonic("stablehlo.add"), Some("add"));
        assert_eq!(mnemonic("chlo.erf"), Some("erf"));
        assert_eq!(mnemonic("sdy.all_gather"), Some("sdy.all_gather"));
        assert_eq!(mnemonic("mhlo.copy"), Some("mhlo.copy"));
        assert_eq!(mnemonic("stablehlo.copy"), None);
        assert_eq!(mnemonic("func.add"), None);
        assert!(matches!(
            Operator::of(&operation("mhlo.while", &[])),
            Operator::Structural(Structural::While)
        ));
        assert!(matches!(Operator::of(&operation("sdy.while", &[])), Operator::Unknown));
    }

    #[test]
    fn what_is_taken_apart_has_no_row() {
        for &(name, structural) in STRUCTURAL {
            let found = Operator::of(&operation(name, &[]));
            assert!(matches!(found, Operator::Structural(of) if of == structural), "{name}");
        }
    }

    #[test]
    fn a_custom_call_is_its_target() {
        let call = |target| operation("stablehlo.custom_call", &[("call_target_name", target)]);
        assert_eq!(Operator::of(&call("Qr")).row().map(|entry| entry.mnemonic), Some("Qr"));
        assert!(matches!(Operator::of(&call("mine")), Operator::Registered));
        assert_eq!(name_of(&call("mine")), "mine");
        assert_eq!(name_of(&operation("stablehlo.custom_call", &[])), "stablehlo.custom_call");
    }

    #[test]
    fn a_composite_stands_for_its_decomposition() {
        let all = [("callee", "f"), ("decomposition", "g")];
        assert_eq!(callee(&operation("func.call", &all)), Some("f"));
        assert_eq!(callee(&operation("stablehlo.composite", &all)), Some("g"));
        assert_eq!(callee(&operation("stablehlo.add", &all)), None);
    }

    #[test]
    fn rows_lie_close_to_where_their_names_say() {
        let away = |entry: &&Entry| {
            let place = first_place(entry.mnemonic.as_bytes());
            let is_here = |at: usize| {
                let index = usize::from(PLACE[(place + at) % NAME_PLACES]);
                index > 0 && OPS[index - 1].mnemonic == entry.mnemonic
            };
            (0..NAME_PLACES).find(|&at| is_here(at)).unwrap()
        };
        let distances: Vec<usize> = OPS.iter().map(away).collect();
        assert!(distances.iter().all(|&away| away < 4), "{distances:?}");
        let direct = distances.iter().filter(|&&away| away == 0).count();
        assert!(5 * direct > 4 * OPS.len(), "{direct}");
    }

    #[test]
    fn other_names_have_no_row() {
        for name in ["", "x", "addd", "stablehlo.add", "Add", "no_such_operation"] {
            assert!(find_own(name).is_none(), "{name}");
        }
    }
}
