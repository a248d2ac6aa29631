//! Random bits from a state.
use super::{Cost, Cx, Entry, Kernel, Lowered, Simplification, Site};
use bytemuck::cast_slice_mut;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::random::{Halving, philox_words, threefry_words};

/// The state after the draw, and bits of the algorithm `rng_algorithm` for a key and a counter.
/// The state is the key and the counter: 64 bits of it for `THREE_FRY`, 128 for `PHILOX`, whose
/// state of two numbers has the key as the counter's upper half. `DEFAULT` is `PHILOX`.
///
/// Shapes: `initial_state u64[2]` or, for Philox, `u64[3]`; results the same, and as declared.
/// Errors: `Constraint` C2 for another state; `Unimplemented` for an output of another type than
/// integers and floats.
/// Source: StableHLO specification, "rng_bit_generator", C1-C2; the bits are those of XLA's
/// expansion.
pub(super) const OP: Entry =
    Entry { simplification: Simplification::Kept, ..Entry::new("rng_bit_generator", infer, lower) };

fn algorithm(site: &Site<'_>) -> Result<Algorithm> {
    match site.attributes.text("rng_algorithm") {
        Some("THREE_FRY") => Ok(Algorithm::ThreeFry),
        Some("DEFAULT" | "PHILOX") => Ok(Algorithm::Philox),
        other => Err(site.unimplemented(format!("algorithm {other:?}"))),
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [state] = site.exactly()?;
    let sizes: &[usize] = match algorithm(site)? {
        Algorithm::ThreeFry => &[2],
        Algorithm::Philox => &[2, 3],
    };
    let fits = matches!(&state.dims[..], [size] if sizes.contains(size));
    if !fits || state.dtype != DType::U64 {
        return Err(site.violates("C2", format!("a state of {state}")));
    }
    Ok(vec![state.clone(), site.declared(1)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let output = &site.results[1];
    let unfit = matches!(output.dtype, DType::Pred | DType::C64 | DType::C128 | DType::Token);
    if unfit {
        return Err(site.unimplemented(format!("bits as {output}")));
    }
    Ok(Lowered::Kernel(Box::new(RngBits {
        algorithm: algorithm(site)?,
        dtype: output.dtype,
        elements: output.elements(),
        halving: Halving::of(&output.dims),
    })))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    ThreeFry,
    Philox,
}

#[derive(Debug)]
struct RngBits {
    algorithm: Algorithm,
    dtype: DType,
    elements: usize,
    halving: Halving,
}

impl RngBits {
    /// Threefry: the bits, and how far the counter went.
    fn threefry(&self, key: u64, counter: u64, output: &mut [u8]) -> usize {
        let halving = &self.halving;
        match self.dtype.host_bytes() {
            1 => halving.words::<u8>(key, counter, output),
            2 => halving.words::<u16>(key, counter, cast_slice_mut(output)),
            4 => halving.words::<u32>(key, counter, cast_slice_mut(output)),
            _ => {
                // A number of 64 bits is a block, its lower half first.
                threefry_words::<u32>(key, counter, cast_slice_mut(output));
                return self.elements;
            }
        }
        halving.blocks()
    }

    /// Philox: the same.
    fn philox(&self, key: u64, counter: u128, output: &mut [u8]) -> usize {
        match self.dtype.host_bytes() {
            1 => philox_words::<u8>(key, counter, output),
            2 => philox_words::<u16>(key, counter, cast_slice_mut(output)),
            4 => philox_words::<u32>(key, counter, cast_slice_mut(output)),
            _ => {
                philox_words::<u32>(key, counter, cast_slice_mut(output));
                return self.elements.div_ceil(2);
            }
        }
        self.elements.div_ceil(4)
    }
}

/// Cuts random bytes to the bits of a type that is narrower, as programs store it.
fn narrow(dtype: DType, bytes: &mut [u8]) {
    let bits = dtype.element().bits;
    let bits = match dtype {
        DType::F6E2M3FN | DType::F6E3M2FN => 6,
        _ => bits,
    };
    if bits >= 8 {
        return;
    }
    let signed = matches!(dtype, DType::S1 | DType::S2 | DType::S4);
    let unused = 8 - bits;
    for byte in bytes {
        *byte <<= unused;
        *byte =
            if signed { (byte.cast_signed() >> unused).cast_unsigned() } else { *byte >> unused };
    }
}

impl Kernel for RngBits {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let state: &[u64] = bytemuck::cast_slice(operands[0]);
        let [next, output] = results else { return Ok(()) };
        let next: &mut [u64] = cast_slice_mut(next);
        next.copy_from_slice(state);
        let key = state[0];
        match (self.algorithm, state) {
            (Algorithm::ThreeFry, _) => {
                let drawn = self.threefry(key, state[1], output);
                next[1] = state[1].wrapping_add(drawn as u64);
            }
            (Algorithm::Philox, &[_, low, ref rest @ ..]) => {
                let high = rest.first().copied().unwrap_or(key);
                let counter = u128::from(low) | u128::from(high) << 64;
                let drawn = self.philox(key, counter, output);
                let [a, b] = bytemuck::cast::<u128, [u64; 2]>(counter.wrapping_add(drawn as u128));
                next[1] = a;
                if let Some(high) = next.get_mut(2) {
                    *high = b;
                }
            }
            (Algorithm::Philox, _) => {}
        }
        narrow(self.dtype, output);
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, numbers};
    use tpu_stablehlo::ir::Attribute;

    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    const COUNTER: u64 = 0x3c6e_f372_fe94_f82a;

    fn case(algorithm: &'static str, state: &[u64], dtype: DType, dims: &[usize]) -> Case {
        Case::new("stablehlo.rng_bit_generator")
            .value(DType::U64, &[state.len()], state)
            .attribute("rng_algorithm", Attribute::Word(algorithm.into()))
            .declares(DType::U64, &[state.len()])
            .declares(dtype, dims)
    }

    /// How far the counter went, and the bits.
    fn draw<T: bytemuck::AnyBitPattern>(
        algorithm: &'static str,
        dtype: DType,
        dims: &[usize],
    ) -> (u64, Vec<T>) {
        let results = case(algorithm, &[KEY, COUNTER], dtype, dims).run(&OP).unwrap();
        let state: Vec<u64> = numbers(&results[0]);
        assert_eq!(state[0], KEY);
        (state[1] - COUNTER, numbers(&results[1]))
    }

    // The numbers below are those of JAX on its CPU backend.

    #[test]
    fn threefry_has_the_bits_of_xla() {
        let (drawn, bits) = draw::<u32>("THREE_FRY", DType::U32, &[2, 3]);
        assert_eq!(drawn, 3);
        let expected =
            [0x0d1a_361c, 0xf16d_f813, 0x5715_f93e, 0x1234_6a9a, 0xb62f_f144, 0x00c2_339c];
        assert_eq!(bits, expected);
        let (drawn, bits) = draw::<u8>("THREE_FRY", DType::U8, &[3]);
        assert_eq!((drawn, bits), (2, vec![0x1c, 0x9a, 0x13]));
        let (drawn, bits) = draw::<u64>("THREE_FRY", DType::U64, &[3]);
        let expected = [0x1234_6a9a_0d1a_361c, 0xb62f_f144_f16d_f813, 0x00c2_339c_5715_f93e];
        assert_eq!((drawn, bits), (3, expected.to_vec()));
        let (drawn, bits) = draw::<u32>("THREE_FRY", DType::U32, &[]);
        assert_eq!((drawn, bits), (1, vec![0x0d1a_361c]));
    }

    #[test]
    fn philox_has_the_bits_of_xla_and_is_the_default() {
        for algorithm in ["PHILOX", "DEFAULT"] {
            let (drawn, bits) = draw::<u32>(algorithm, DType::U32, &[2, 3]);
            assert_eq!(drawn, 2);
            let expected =
                [0x830b_0971, 0x7537_b9e5, 0x1550_95c9, 0xd22c_1d39, 0x6fc9_885c, 0xd997_b070];
            assert_eq!(bits, expected);
            let (drawn, bits) = draw::<u64>(algorithm, DType::U64, &[3]);
            let expected = [0x7537_b9e5_830b_0971, 0xd22c_1d39_1550_95c9, 0xd997_b070_6fc9_885c];
            assert_eq!((drawn, bits), (2, expected.to_vec()));
            let (drawn, bits) = draw::<u16>(algorithm, DType::U16, &[3]);
            assert_eq!((drawn, bits), (1, vec![0x0971, 0xb9e5, 0x95c9]));
        }
    }

    #[test]
    fn a_state_of_three_numbers_carries_into_the_last() {
        let results = case("PHILOX", &[1, u64::MAX, 5], DType::U32, &[8]).run(&OP).unwrap();
        assert_eq!(numbers::<u64>(&results[0]), [1, 1, 6]);
    }

    #[test]
    fn narrow_types_keep_their_low_bits() {
        let bytes = draw::<u8>("PHILOX", DType::U8, &[9]).1;
        let unsigned = draw::<u8>("PHILOX", DType::U4, &[9]).1;
        assert!(bytes.iter().zip(&unsigned).all(|(byte, nibble)| byte & 15 == *nibble));
        let signed = draw::<i8>("PHILOX", DType::S4, &[9]).1;
        assert!(signed.iter().all(|nibble| (-8..8).contains(nibble)));
        assert!(
            bytes.iter().zip(signed).all(|(byte, nibble)| (byte.cast_signed() ^ nibble) & 15 == 0)
        );
    }

    #[test]
    fn states_and_outputs_that_do_not_fit_are_errors() {
        let text = case("THREE_FRY", &[1, 2, 3], DType::U32, &[1]).shapes(&OP);
        assert!(text.contains("violates C2: a state of u64[3]"), "{text}");
        let pred = case("PHILOX", &[1, 2], DType::Pred, &[1]).lower(&OP);
        assert!(pred.unwrap_err().to_string().contains("bits as pred[1]"));
    }
}
