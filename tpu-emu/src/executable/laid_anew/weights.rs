//! Weights that are on their way into the core's memory while products before theirs run.
//!
//! A product's weights are read ahead (`inside::read_ahead`), those of the next ones as well while
//! there is room. A program that has little else, as a step of decoding, has these at its peak.
//!
//! Source: what libtpu 0.0.51 says of 35 steps of decoding on a v5e: 34 to 118 MB beside arguments and
//! results, where nothing else is there.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::inside::read_ahead;
use crate::executable::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules};
use std::collections::BTreeSet;
use tpu_base::units::Bytes;
use tpu_stablehlo::ir::Operation;

/// Bytes of the weights of products that follow one another, at most.
const ROOM_FOR_WEIGHTS: u64 = 80 << 20;

/// The weights of a program, in the order in which products read them first.
#[derive(Debug, Default)]
pub(super) struct Weights<'m> {
    known: BTreeSet<CallValue>,
    all: Vec<(&'m Operation, Array, (Bytes, Layout))>,
}

/// Weights that are there at one time.
pub(super) struct OnTheirWay<'m, 'w> {
    /// The product that reads the largest one.
    pub(super) product: &'m Operation,
    /// How many there are beside that.
    pub(super) others: usize,
    pub(super) largest: &'w Array,
    /// Bytes of all, and the layout of the largest one.
    pub(super) stored: (Bytes, Layout),
}

impl<'m> Weights<'m> {
    /// Notes what a product reads ahead.
    pub(super) fn look_at(
        &mut self,
        rules: TileRules,
        body: &WrittenOut<'m>,
        of: &CallOperation<'m>,
    ) {
        if let Some((value, array)) = read_ahead(body, of)
            && let Some(stored) = array.by_default(rules)
            && self.known.insert(value)
        {
            self.all.push((of.operation, array, stored));
        }
    }

    /// The most that are there at one time.
    pub(super) fn most(&self) -> Option<OnTheirWay<'m, '_>> {
        let bytes = |at: usize| self.all[at].2.0.0;
        let (mut first, mut sum) = (0, 0_u64);
        let mut most = (0, 0..0);
        for last in 0..self.all.len() {
            sum = sum.saturating_add(bytes(last));
            while sum > ROOM_FOR_WEIGHTS && first < last {
                sum -= bytes(first);
                first += 1;
            }
            if sum > most.0 {
                most = (sum, first..last + 1);
            }
        }
        let others = most.1.len().checked_sub(1)?;
        let of = self.all[most.1].iter().max_by_key(|(_, _, stored)| stored.0)?;
        let (product, largest, (_, layout)) = of;
        Some(OnTheirWay { product, others, largest, stored: (Bytes(most.0), layout.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// What is charged for 8 rows that are multiplied by matrices of so many rows and columns, one
    /// after the other.
    fn weights(extents: &[u64]) -> u64 {
        let (mut parameters, mut lines) =
            (format!("%p0: tensor<8x{}xf32>", extents[0]), String::new());
        for (at, pair) in extents.windows(2).enumerate() {
            let (from, to) =
                (format!("tensor<8x{}xf32>", pair[0]), format!("tensor<8x{}xf32>", pair[1]));
            let matrix = format!("tensor<{}x{}xf32>", pair[0], pair[1]);
            parameters += &format!(", %w{at}: {matrix}");
            lines += &format!(
                "%p{} = stablehlo.dot_general %p{at}, %w{at}, contracting_dims = [1] x [0] : ({from}, {matrix}) -> {to}\n",
                at + 1,
            );
        }
        let last = extents.len() - 1;
        let to = format!("tensor<8x{}xf32>", extents[last]);
        charged(&parameters, &format!("{lines}%r = stablehlo.negate %p{last} : {to}"), &to)
    }

    #[test]
    fn weights_of_products_in_a_row_are_on_their_way_while_there_is_room() {
        const MIB: u64 = 1 << 20;
        assert_eq!(weights(&[1024, 4096]), 16 * MIB);
        assert_eq!(weights(&[1024, 4096, 1024, 1024]), 36 * MIB);
        assert_eq!(weights(&[1024, 4096, 4096, 1024, 1024]), 80 * MIB, "64 and 16 MiB");
        assert_eq!(weights(&[4096, 8192, 64]), 2 * MIB + MIB / 8, "rows, and no room for 128 MiB");
    }
}
