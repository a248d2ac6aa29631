//! The table of lines of one unit: places in its program from where rows can be made again.
//!
//! All rows of a large unit would take twenty times the program that makes them, of which one
//! address needs a few bytes.
use super::entry::Bytes;
use gimli::{LineInstruction, LineInstructions, LineProgramHeader, Range, Result};

/// LineRows from one place to the next, about.
const SPACING: usize = 64;

/// Places in a program of lines.
#[derive(Debug, Default)]
pub(super) struct LineRows {
    /// By begin.
    sequences: Vec<Sequence>,
    /// By sequence, in the order of the program.
    places: Vec<RowPlace>,
}

/// Code without a gap.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    begin: u64,
    end: u64,
    /// The first of the places in it.
    first: u32,
    count: u32,
}

/// A row, and what the program does behind it.
#[derive(Debug, Clone)]
struct RowPlace {
    row: RowRegisters,
    rest: LineInstructions<Bytes>,
}

/// What a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceRow {
    /// A number in the unit's table of files.
    pub(super) file: u64,
    /// 0 where unknown.
    pub(super) line: u32,
}

/// What the program changes, as far as a stack needs it.
#[derive(Debug, Clone, Copy)]
struct RowRegisters {
    address: u64,
    file: u64,
    line: u64,
    /// The code was left out by the linker.
    gone: bool,
}

/// What an instruction gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowStep {
    Nothing,
    Row,
    End,
}

impl LineRows {
    /// Runs the program of `header` once.
    pub(super) fn of(header: &LineProgramHeader<Bytes>) -> Result<Self> {
        let mut rows = Self::default();
        let mut instructions = header.instructions();
        let mut now = RowRegisters::START;
        // The first place of this sequence, and the rows since the last place.
        let (mut first, mut since) = (0, 0);
        while let Some(instruction) = instructions.next_instruction(header)? {
            match now.step(instruction, header) {
                RowStep::Nothing => {}
                RowStep::Row => {
                    let last = rows.places[first..].last();
                    since += 1;
                    if last.is_none_or(|last| since >= SPACING && last.row.address < now.address) {
                        rows.places.push(RowPlace { row: now, rest: instructions.clone() });
                        since = 0;
                    }
                }
                RowStep::End => {
                    rows.end_sequence(first, now.address);
                    (first, since) = (rows.places.len(), 0);
                    now = RowRegisters::START;
                }
            }
            if now.gone && matches!(instruction, LineInstruction::EndSequence) {
                now = RowRegisters::START;
            }
        }
        rows.places.truncate(first);
        rows.places.shrink_to_fit();
        rows.sequences.shrink_to_fit();
        rows.sequences.sort_by_key(|sequence| sequence.begin);
        Ok(rows)
    }

    /// Notes the sequence whose places begin at `first`, where it has any code.
    fn end_sequence(&mut self, first: usize, end: u64) {
        let begin = self.places.get(first).map(|place| place.row.address);
        let numbers = (u32::try_from(first), u32::try_from(self.places.len() - first));
        match (begin, numbers) {
            (Some(begin), (Ok(first), Ok(count))) if begin < end => {
                self.sequences.push(Sequence { begin, end, first, count });
            }
            _ => self.places.truncate(first),
        }
    }

    /// Where the code is.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range> {
        self.sequences.iter().map(|&Sequence { begin, end, .. }| Range { begin, end })
    }

    /// The row that holds `address`, of the program of `header`.
    pub(super) fn at(&self, header: &LineProgramHeader<Bytes>, address: u64) -> Option<SourceRow> {
        let after = self.sequences.partition_point(|sequence| sequence.begin <= address);
        let sequence = self.sequences[..after].last().filter(|found| address < found.end)?;
        let (first, count) = (sequence.first as usize, sequence.count as usize);
        let places = &self.places[first..first + count];
        let before = places.partition_point(|place| place.row.address <= address);
        let RowPlace { row, rest } = places[..before].last()?;
        let (mut row, mut now, mut rest) = (*row, *row, rest.clone());
        while let Ok(Some(instruction)) = rest.next_instruction(header) {
            match now.step(instruction, header) {
                RowStep::Nothing => {}
                RowStep::Row if now.address <= address => row = now,
                RowStep::Row | RowStep::End => break,
            }
        }
        Some(SourceRow { file: row.file, line: u32::try_from(row.line).unwrap_or(0) })
    }
}

impl RowRegisters {
    const START: Self = Self { address: 0, file: 1, line: 1, gone: false };

    /// Does what an instruction says. On the machines that this runs on, an instruction of the
    /// machine is one operation.
    fn step(
        &mut self,
        instruction: LineInstruction<Bytes>,
        header: &LineProgramHeader<Bytes>,
    ) -> RowStep {
        let length = u64::from(header.minimum_instruction_length());
        let advance = |operations: u64| operations.wrapping_mul(length);
        let special = |opcode: u8| opcode - header.opcode_base();
        match instruction {
            LineInstruction::Special(opcode) => {
                let (code, lines) = (
                    u64::from(special(opcode) / header.line_range()),
                    i64::from(header.line_base())
                        + i64::from(special(opcode) % header.line_range()),
                );
                self.go(advance(code));
                self.line = self.line.wrapping_add_signed(lines);
                return self.row(RowStep::Row);
            }
            LineInstruction::Copy => return self.row(RowStep::Row),
            LineInstruction::EndSequence => return self.row(RowStep::End),
            LineInstruction::AdvancePc(operations) => self.go(advance(operations)),
            LineInstruction::ConstAddPc => {
                self.go(advance(u64::from(special(u8::MAX) / header.line_range())));
            }
            LineInstruction::FixedAddPc(bytes) => self.go(bytes.into()),
            LineInstruction::AdvanceLine(lines) => {
                self.line = self.line.wrapping_add_signed(lines);
            }
            LineInstruction::SetFile(file) => self.file = file,
            LineInstruction::SetAddress(address) => {
                // What the linker left out has the highest address, or one that was passed.
                self.gone = address < self.address || address >= u64::MAX - 1;
                if !self.gone {
                    self.address = address;
                }
            }
            _ => {}
        }
        RowStep::Nothing
    }

    fn go(&mut self, bytes: u64) {
        if !self.gone {
            self.address = self.address.wrapping_add(bytes);
        }
    }

    fn row(self, step: RowStep) -> RowStep {
        if self.gone { RowStep::Nothing } else { step }
    }
}
