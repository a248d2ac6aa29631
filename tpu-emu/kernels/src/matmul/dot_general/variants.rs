//! The same sums of products of operands that lie elsewhere, or with results of another form.
use super::super::gemm_crate::Extent;
use super::super::operand::{OperandArray, ProductOperand};
use super::super::pack::Load;
use super::super::precision::SumType;
use super::super::tuning::MIN_TURNED_ROWS;
use super::Contraction;
use crate::movement::strided_view::{Access, AccessMap, signed};
use tpu_base::tensor::DType;

impl Contraction {
    /// The same product of the array that an operand is a view of: elements of that one lie so far
    /// apart. `None` where it would not have the same bits, or needs more scratch memory.
    pub fn through(&self, side: usize, strides: &[isize]) -> Option<Self> {
        self.of(side, self.arrays.get(side)?.through(strides)?)
    }

    /// The same product of the array of another type that an operand is converted from, likewise.
    pub fn converted(&self, side: usize, stored: DType) -> Option<Self> {
        self.of(side, self.arrays.get(side)?.converted(stored)?)
    }

    /// The same product with its sums rounded to a type of fewer bits. `None` where that is not what
    /// a conversion of the result gives.
    pub fn narrowed(&self, result: DType) -> Option<Self> {
        let sums = self.result == DType::F32 && self.arithmetic.gives(DType::F32);
        (sums && result == DType::Bf16).then(|| Self { result, ..self.clone() })
    }

    /// Whether the elements of an operand are rounded to bf16 as they are read.
    pub fn rounds(&self, side: usize) -> bool {
        self.sides.get(side).is_some_and(|side| !side.read && side.load == Load::Nearest)
    }

    /// The product of one of so many equal parts of the left operand along its first axis: that part
    /// of the result. `None` where it would not have the same bits.
    pub fn part_of_rows(&self, parts: usize) -> Option<Self> {
        let rows = self.extent.m.checked_div(parts)?;
        if !self.batch.is_empty() || rows < 2 || !self.has_panels() {
            return None;
        }
        let array = self.arrays[0].part(parts)?;
        let mut part = Self { extent: Extent { m: rows, ..self.extent }, ..self.clone() };
        part.sides[0] = ProductOperand::new(&self.arithmetic, &array);
        part.arrays[0] = array;
        Some(part)
    }

    /// Whether sums are in an order that neither strides nor the sides decide: not those of a
    /// product with a vector, nor those that `gemm` makes.
    fn has_panels(&self) -> bool {
        let Extent { m, n, .. } = self.extent;
        matches!(self.arithmetic.kind, SumType::F32 | SumType::U32) && m != 1 && n != 1
    }

    fn of(&self, side: usize, array: OperandArray) -> Option<Self> {
        let before = self.sides.get(side).filter(|_| self.has_panels())?;
        let operand = ProductOperand::new(&self.arithmetic, &array);
        // Panels are packed along the rows or along the sums of what lies side by side.
        let beside = |of: &ProductOperand| of.row == 1 || of.column == 1;
        let numbers = |of: &ProductOperand| {
            of.numbers(self.arithmetic.parts()).into_iter().fold(0, usize::saturating_add)
        };
        let cheap = numbers(&operand) <= numbers(before) && (beside(&operand) || !beside(before));
        if !cheap || (operand.read && array.is_converted()) {
            return None;
        }
        let mut changed = self.clone();
        *changed.arrays.get_mut(side)? = array;
        *changed.sides.get_mut(side)? = operand;
        Some(changed)
    }

    /// The same product with its operands the other way round, if that is its result in the order
    /// that `wanted` says.
    pub fn turned(&self, wanted: &AccessMap) -> Option<Self> {
        let Extent { m, n, k } = self.extent;
        let wide = m.min(n) >= MIN_TURNED_ROWS;
        if !self.has_panels() || !wide || self.arithmetic.passes.len() != 1 {
            return None;
        }
        let count = self.batch.iter().fold(1_usize, |all, &dim| all.saturating_mul(dim));
        let strides = [m.checked_mul(n)?, 1, n].map(signed).to_vec();
        let turned = AccessMap::new(&Access { offset: 0, strides }, &[count, n, m]);
        if *wanted != turned {
            return None;
        }
        let [lhs, rhs] = self.arrays.each_ref().map(OperandArray::turned);
        let arrays = [rhs, lhs];
        let sides = arrays.each_ref().map(|array| ProductOperand::new(&self.arithmetic, array));
        Some(Self { arrays, sides, extent: Extent { m: n, n: m, k }, ..self.clone() })
    }
}
