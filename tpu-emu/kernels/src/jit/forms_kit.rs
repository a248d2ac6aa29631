//! What the tests of both encoders' tables share: code as a decoder that is not ours reads it.
use super::encode::Assembler;
use super::target::Target;
use super::verify::text;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// The bytes that `write` writes for a target, and the instructions in them.
#[track_caller]
pub(super) fn all(target: Target, write: impl Fn(&mut Assembler)) -> (Vec<u8>, Vec<Instruction>) {
    let mut code = Assembler::new(target);
    write(&mut code);
    // The pool has a vector, so that distances to constants can be read.
    let (bytes, start) = code.finish(vec![0; 64]);
    let bytes = bytes[start..].to_vec();
    let decoder = Decoder::with_ip(64, &bytes, start as u64, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    assert!(instructions.iter().all(|one| !one.is_invalid()), "{bytes:02x?}");
    (bytes, instructions)
}

/// The only one of the instructions that were written.
#[track_caller]
pub(super) fn only((bytes, instructions): (Vec<u8>, Vec<Instruction>)) -> (Vec<u8>, Instruction) {
    assert_eq!(instructions.len(), 1, "{bytes:02x?}");
    (bytes, instructions[0])
}

/// A line of a table: what was written, its bytes, and what is read in them.
pub(super) fn row(name: &str, bytes: &[u8], instructions: &[Instruction]) -> String {
    let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let texts: Vec<String> = instructions.iter().map(text).collect();
    format!("{name:16} {bytes:26} {}\n", texts.join("; "))
}

/// Fails unless a table is that of a file, and shows the rows that differ.
#[track_caller]
pub(super) fn is_table(table: &str, wanted: &str, file: &str) {
    let rows = table.lines().zip(wanted.lines());
    let differ: Vec<_> = rows.filter(|(row, wanted)| row != wanted).collect();
    assert!(table == wanted, "{differ:#?} differ; {file} would be\n{table}");
}

/// Fails unless an instruction is the one of a name.
#[track_caller]
pub(super) fn is_named(instruction: &Instruction, name: &str, bytes: &[u8]) {
    let mnemonic = format!("{:?}", instruction.mnemonic()).to_uppercase();
    assert_eq!(mnemonic, name.trim_end_matches("_STORE"), "{bytes:02x?}");
}
