//! Elementwise programs compute each element of a result from the elements at the same place.
//!
//! An operation is a kind, types and a loop; a program is straight-line code of operations. Fused
//! loops are such programs, and so are most regions of reductions, scatters and sorts.
//! [`crate::vm`] runs them tile by tile, and [`crate::jit`] makes machine code of them.
//!
//! | what | where |
//! |---|---|
//! | what an operation computes, as a value that others choose by | [`kind`] |
//! | an operation on fixed types, and code of several | [`program`] |
//! | the loop of an operation of one, two or three operands | [`loops`] |
//! | look-ups: an element of a whole array, by a computed number | [`take`] |
//! | elements of a tile, operations until a program is hot | [`tuning`] |
//!
//! * A loop of [`loops`] is compiled for every vector width where its operands' types are common;
//!   with one operand, its result's type too. Other loops are compiled once, for any machine.
//!   `Element::COMMON` says which types are common. Two formats of eight bits count too, as what
//!   `f32`, `f16` or `bf16` are converted to.
//! * Functions such as logarithms have loops of their own in [`crate::math`].
//! * A look-up takes a number without a sign, and the last element where the number is beyond it.
//!   So no program can lead out of the array (docs/decisions/0026).
//!
//! What holds for all: element `i` of a result depends on element `i` of the operands alone, but
//! for look-ups. So the bits of a result do not depend on where runs of elements begin, nor on
//! threads or vector widths. [`tuning::TILE_ELEMENTS`] is the size of the runs: the values of a few
//! steps stay in the first cache. One use of it decides bits: reductions whose body is a program
//! cut their rows by it.
pub mod kind;
pub mod loops;
pub mod program;
pub mod take;
pub mod tuning;
