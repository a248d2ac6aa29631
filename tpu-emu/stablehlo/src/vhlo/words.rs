//! Enumerations: the words of StableHLO's text by the numbers of the encoding.
use crate::ReadError;
use crate::bytecode::{Cursor, Node};
use crate::ir::{Attribute, Name};

pub(crate) const COMPARISON_DIRECTION: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];
pub(crate) const COMPARISON_TYPE: &[&str] =
    &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
pub(crate) const API_VERSION: &[&str] = &[
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];
pub(crate) const FFT_TYPE: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];
pub(crate) const PRECISION: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];
pub(crate) const RNG_ALGORITHM: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];
/// There is no 0.
pub(crate) const RNG_DISTRIBUTION: &[&str] = &["", "UNIFORM", "NORMAL"];
pub(crate) const TRANSPOSE: &[&str] =
    &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
pub(crate) const ACCURACY_MODE: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];

/// The word whose number comes next.
pub(crate) fn read(
    cursor: &mut Cursor<'_>,
    words: &'static [&'static str],
) -> Result<Node, ReadError> {
    let at = cursor.at();
    let number = cursor.index()?;
    match words.get(number) {
        Some(&word) if !word.is_empty() => {
            Ok(Node::Attribute(Attribute::Word(Name::Borrowed(word))))
        }
        _ => Err(ReadError::at(at, format!("word {number} of {words:?}"))),
    }
}
