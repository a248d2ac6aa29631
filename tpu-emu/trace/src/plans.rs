//! The plan of a program's temporaries where it holds most, beside another compiler's.
use crate::recorded::{Program, Slot};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use tpu_placement::fullest;

/// The temporaries of a program where its plan holds most, as each compiler has planned them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plans {
    /// As `jit_step`.
    pub program: String,
    /// The program's number in the trace.
    pub number: u64,
    /// Bytes that a run is charged with for its temporaries on one device.
    pub charged: u64,
    /// The other compiler, as `libtpu 0.0.51`; empty where there is none.
    pub planner: String,
    /// Bytes of the values that live where tpu-emu's plan holds most.
    pub own: u64,
    /// Bytes of the values that live where the other compiler's plan holds most.
    pub other: u64,
    /// What is held there: those first that differ most, or that are largest where there is no
    /// other plan.
    pub rows: Vec<PlannedRow>,
}

/// Values of one line and one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedRow {
    /// Where they were written, as `train.py:12`; empty where unknown.
    pub line: String,
    /// Type and extents, as `f32[8,128]`.
    pub array: String,
    /// In tpu-emu's plan.
    pub own: PlannedShare,
    /// In the other compiler's.
    pub other: PlannedShare,
}

/// How many values, and how large.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PlannedShare {
    /// Values.
    pub values: u64,
    /// Bytes that they take, with the padding to tiles.
    pub bytes: u64,
    /// Bytes of their elements.
    pub logical: u64,
    /// The operations that make them, each once.
    pub operations: Vec<String>,
    /// How they lie, each layout once.
    pub layouts: Vec<String>,
}

impl PlannedShare {
    fn add(&mut self, slot: &Slot) {
        self.values += 1;
        self.bytes = self.bytes.saturating_add(slot.size);
        self.logical = self.logical.saturating_add(slot.logical);
        let once = |list: &mut Vec<String>, text: &String| {
            if !list.contains(text) {
                list.push(text.clone());
            }
        };
        once(&mut self.operations, &slot.operation);
        once(&mut self.layouts, &slot.layout);
    }
}

/// Both plans of a program. Without another compiler's, one side is empty.
#[must_use]
pub fn plans(program: &Program) -> Plans {
    let mut rows: BTreeMap<(String, String), PlannedRow> = BTreeMap::new();
    let mut sides = [0, 0];
    for (side, slots) in [&program.slots, &program.others].into_iter().enumerate() {
        for slot in at_the_peak(slots) {
            sides[side] = slot.size.saturating_add(sides[side]);
            let extents: Vec<String> = slot.shape.iter().map(u64::to_string).collect();
            let array = format!("{}[{}]", slot.dtype, extents.join(","));
            let key = (slot.line.clone(), array);
            let row = rows.entry(key).or_insert_with_key(|(line, array)| PlannedRow {
                line: line.clone(),
                array: array.clone(),
                own: PlannedShare::default(),
                other: PlannedShare::default(),
            });
            if side == 0 { row.own.add(slot) } else { row.other.add(slot) }
        }
    }
    let mut rows: Vec<PlannedRow> = rows.into_values().collect();
    rows.sort_by_key(|row| {
        Reverse((row.own.bytes.abs_diff(row.other.bytes), row.own.bytes.max(row.other.bytes)))
    });
    let [own, other] = sides;
    Plans {
        program: program.name.clone(),
        number: program.number,
        charged: program.temporaries,
        planner: program.planner.clone(),
        own,
        other,
        rows,
    }
}

/// The values that live at the position where they take most together; the first of several.
pub(crate) fn at_the_peak(slots: &[Slot]) -> impl Iterator<Item = &Slot> {
    let position = fullest(slots.iter().map(|slot| (slot.first, slot.last, slot.size)));
    let lives = move |slot: &&Slot| {
        position.is_some_and(|position| slot.first <= position && position <= slot.last)
    };
    slots.iter().filter(lives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(line: &str, size: u64, (first, last): (u64, u64)) -> Slot {
        Slot {
            offset: 0,
            size,
            logical: size / 2,
            first,
            last,
            dtype: "f32".to_owned(),
            shape: vec![size / 8],
            layout: "{0}".to_owned(),
            operation: "stablehlo.add".to_owned(),
            line: line.to_owned(),
        }
    }

    fn program(slots: Vec<Slot>, others: Vec<Slot>) -> Program {
        Program {
            number: 1,
            name: "jit_f".to_owned(),
            temporaries: 512,
            constants: 0,
            arguments: 0,
            results: 0,
            slots,
            positions: 9,
            needed: 0,
            planner: "libtpu 1".to_owned(),
            others,
            other_positions: 20,
        }
    }

    #[test]
    fn values_of_one_line_and_type_stand_side_by_side_at_each_ones_own_peak() {
        let own = vec![slot("a:1", 64, (0, 4)), slot("a:1", 64, (2, 3)), slot("a:2", 32, (3, 3))];
        let other =
            vec![slot("a:1", 64, (5, 19)), slot("a:3", 16, (7, 7)), slot("a:4", 80, (0, 4))];
        let found = plans(&program(own, other));
        assert_eq!((found.own, found.other, found.charged), (160, 80, 512));
        let rows: Vec<_> = found
            .rows
            .iter()
            .map(|row| (&*row.line, &*row.array, row.own.values, row.other.values))
            .collect();
        let wanted = [("a:1", "f32[8]", 2, 0), ("a:4", "f32[10]", 0, 1), ("a:2", "f32[4]", 1, 0)];
        assert_eq!(rows, wanted);
        assert_eq!(found.rows[0].own.operations, ["stablehlo.add"]);
    }

    #[test]
    fn a_value_that_ends_before_it_begins_and_no_values_hold_nothing() {
        let found = plans(&program(vec![slot("a:1", 64, (3, 2))], Vec::new()));
        assert_eq!((found.own, found.other, found.rows), (0, 0, Vec::new()));
        let huge = vec![slot("a:1", u64::MAX, (0, 1)), slot("a:2", u64::MAX, (0, 1))];
        assert_eq!(plans(&program(huge, Vec::new())).own, u64::MAX);
    }
}
