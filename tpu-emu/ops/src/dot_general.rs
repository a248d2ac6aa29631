//! `dot_general`: sums of products over pairs of axes.
use super::contraction::Pairs;
use super::{Entry, LayoutRule, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `result[b…, l…, r…] = Σ_c lhs[b…, l…, c…]·rhs[b…, r…, c…]`.
///
/// Shapes: axes of the operands in any order, named by the attributes; the result has the batch
/// axes, then the free ones of `lhs`, then those of `rhs`.
/// Errors: `Constraint` C1-C10 for axes that do not pair; `BadArgument` for a list of precisions
/// of another length than 2 (C11); `Unimplemented` for unknown algorithms.
/// Source: StableHLO specification, "dot_general", C1-C12.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Contracted,
    layout: LayoutRule::Default,
    relayout: Relayout::Multiplied,
    factors: factors::contracted,
    ..Entry::new("dot_general", infer, lower)
};

fn pairs(site: &Site<'_>) -> Result<Pairs> {
    let [lhs, rhs] = site.exactly::<2>()?;
    let pairs = Pairs {
        batch: [
            site.optional_indices("lhs_batching_dimensions")?,
            site.optional_indices("rhs_batching_dimensions")?,
        ],
        sum: [
            site.optional_indices("lhs_contracting_dimensions")?,
            site.optional_indices("rhs_contracting_dimensions")?,
        ],
    };
    let lists = [(&pairs.batch, "C1", ["C5", "C7"], "C9"), (&pairs.sum, "C2", ["C6", "C8"], "C10")];
    for (list, same_length, in_range, equal) in lists {
        if list[0].len() != list[1].len() {
            let what = format!("{:?} and {:?} differ in length", list[0], list[1]);
            return Err(site.violates(same_length, what));
        }
        for ((axes, shape), constraint) in list.iter().zip([lhs, rhs]).zip(in_range) {
            if let Some(axis) = axes.iter().find(|&&axis| axis >= shape.rank()) {
                return Err(site.violates(constraint, format!("axis {axis} of {shape}")));
            }
        }
        for (&left, &right) in list[0].iter().zip(&list[1]) {
            if lhs.dims[left] != rhs.dims[right] {
                let what = format!("axis {left} of {lhs} against axis {right} of {rhs}");
                return Err(site.violates(equal, what));
            }
        }
    }
    for (side, constraint) in ["C3", "C4"].into_iter().enumerate() {
        let mut axes = [&pairs.batch[side][..], &pairs.sum[side][..]].concat();
        axes.sort_unstable();
        if let Some(twice) = axes.windows(2).find(|two| two[0] == two[1]) {
            return Err(site.violates(constraint, format!("axis {} is named twice", twice[0])));
        }
    }
    Ok(pairs)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let pairs = pairs(site)?;
    let [lhs, rhs] = site.exactly::<2>()?;
    let dtype = site.declared(0)?.dtype;
    Ok(vec![Shape::new(dtype, pairs.result([lhs, rhs]))])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    pairs(site)?.lower(site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue, attributes, integers};
    use half::bf16;
    use num_complex::Complex;
    use tpu_base::error::Error;
    use tpu_base::tensor::DType;
    use tpu_kernels::parallel::with_threads;
    use tpu_stablehlo::ir::{Attribute, Attributes, Element, Type};

    /// Batch axes, summed axes, of `lhs` and `rhs` each.
    fn axes<const B: usize, const C: usize>(
        batch: [[i64; B]; 2],
        sum: [[i64; C]; 2],
    ) -> Attributes {
        attributes(&[
            ("lhs_batching_dimensions", integers(&batch[0])),
            ("rhs_batching_dimensions", integers(&batch[1])),
            ("lhs_contracting_dimensions", integers(&sum[0])),
            ("rhs_contracting_dimensions", integers(&sum[1])),
        ])
    }

    fn matrix() -> Attributes {
        axes([[], []], [[1], [0]])
    }

    fn one(
        attributes: &Attributes,
        [lhs, rhs]: [TestValue; 2],
        result: (DType, &[usize]),
        numerics: Numerics,
    ) -> Result<TestValue> {
        let declared = [Shape::new(result.0, result.1)];
        Ok(Case::new(OP.mnemonic)
            .attributes(&attributes.0)
            .given(&[lhs, rhs])
            .declares_all(&declared)
            .numerics(numerics)
            .results(&OP)?
            .remove(0))
    }

    /// The sum of products by its definition, over axes in any order.
    fn expected(
        lhs: &TestValue,
        rhs: &TestValue,
        batch: [&[usize]; 2],
        sum: [&[usize]; 2],
    ) -> Vec<f64> {
        let indices = |dims: Vec<usize>| -> Vec<Vec<usize>> {
            dims.iter().fold(vec![vec![]], |all, &size| {
                let longer = |index: &Vec<usize>| -> Vec<Vec<usize>> {
                    (0..size).map(|last| [&index[..], &[last]].concat()).collect()
                };
                all.iter().flat_map(longer).collect()
            })
        };
        let free = |shape: &Shape, side: usize| -> Vec<usize> {
            let used = [batch[side], sum[side]].concat();
            (0..shape.rank()).filter(|axis| !used.contains(axis)).collect()
        };
        let extents = |shape: &Shape, axes: &[usize]| -> Vec<usize> {
            axes.iter().map(|&axis| shape.dims[axis]).collect()
        };
        let at = |array: &TestValue, lists: [(&[usize], &[usize]); 3]| -> f64 {
            let strides = array.shape.strides();
            let steps = lists.iter().flat_map(|(axes, index)| axes.iter().zip(*index));
            let offset: usize = steps.map(|(&axis, &index)| strides[axis] * index).sum();
            f64::from(array.elements::<f32>()[offset])
        };
        let (left, right) = (free(&lhs.shape, 0), free(&rhs.shape, 1));
        let mut all = Vec::new();
        for b in indices(extents(&lhs.shape, batch[0])) {
            for l in indices(extents(&lhs.shape, &left)) {
                for r in indices(extents(&rhs.shape, &right)) {
                    let product = |c: &Vec<usize>| {
                        at(lhs, [(batch[0], &b), (&left, &l), (sum[0], c)])
                            * at(rhs, [(batch[1], &b), (&right, &r), (sum[1], c)])
                    };
                    all.push(indices(extents(&lhs.shape, sum[0])).iter().map(product).sum());
                }
            }
        }
        all
    }

    fn numbers(dims: &[usize], seed: i16) -> TestValue {
        let count = dims.iter().product::<usize>();
        let value = |i: usize| f32::from((i16::try_from(i * 37 % 101).unwrap() * seed) % 17 - 8);
        let values: Vec<f32> = (0..count).map(value).collect();
        TestValue::of(DType::F32, dims, &values)
    }

    #[test]
    fn axes_are_taken_in_any_order() {
        // Transposed operands, several batch and summed axes, and orders no stride can follow.
        type Case<'a> = (&'a [usize], &'a [usize], [&'a [usize]; 2], [&'a [usize]; 2]);
        let cases: [Case<'_>; 11] = [
            (&[5, 7], &[7, 3], [&[], &[]], [&[1], &[0]]),
            (&[7, 5], &[3, 7], [&[], &[]], [&[0], &[1]]),
            (&[2, 5, 7], &[7, 2, 3], [&[0], &[1]], [&[2], &[0]]),
            (&[4, 2, 5, 3], &[3, 2, 6, 4], [&[1], &[1]], [&[0, 3], &[3, 0]]),
            (&[4, 2, 5, 3], &[3, 2, 6, 4], [&[1, 3], &[1, 0]], [&[0], &[3]]),
            (&[3, 4, 2], &[4, 5, 6, 2], [&[], &[]], [&[1, 2], &[0, 3]]),
            (&[3], &[4], [&[], &[]], [&[], &[]]),
            // So many that they are multiplications of what is spread.
            (&[40], &[33], [&[], &[]], [&[], &[]]),
            (&[401], &[401, 3], [&[0], &[0]], [&[], &[]]),
            (&[40, 1], &[1, 30], [&[], &[]], [&[1], &[0]]),
            (&[6, 1, 2, 20], &[9, 2, 1], [&[2], &[1]], [&[1], &[2]]),
        ];
        for (lhs, rhs, batch, sum) in cases {
            let (left, right) = (numbers(lhs, 3), numbers(rhs, 5));
            let list = |axes: &[usize]| {
                Attribute::Integers(axes.iter().map(|&axis| axis.cast_signed() as i64).collect())
            };
            let attributes = attributes(&[
                ("lhs_batching_dimensions", list(batch[0])),
                ("rhs_batching_dimensions", list(batch[1])),
                ("lhs_contracting_dimensions", list(sum[0])),
                ("rhs_contracting_dimensions", list(sum[1])),
            ]);
            let wanted = expected(&left, &right, batch, sum);
            let shapes = [left.shape.clone(), right.shape.clone()];
            let declared = [crate::Declared { dtype: DType::F32, dims: vec![] }];
            let site = Site {
                name: "dot_general",
                attributes: &attributes,
                operands: &shapes,
                known: &[],
                declared: &declared,
                results: &[],
                bodies: &[],
                numerics: Numerics::Tpu,
                partition: 0,
            };
            let inferred = infer(&site).unwrap().remove(0);
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let operands = [left.clone(), right.clone()];
                let result = one(&attributes, operands, (DType::F32, &inferred.dims), numerics);
                let result: Vec<f64> =
                    result.unwrap().elements::<f32>().into_iter().map(f64::from).collect();
                assert_eq!(result, wanted, "{lhs:?} {rhs:?}");
            }
        }
    }

    #[test]
    fn products_of_a_batch_that_threads_share_are_those_of_one_thread() {
        // Each product is a chunk, several are, and rows of one are.
        for [batch, m, n, k] in [[3, 40, 400, 300], [5, 40, 40, 300], [2, 1100, 64, 130]] {
            let lhs = numbers(&[batch, m, k], 3);
            let rhs = numbers(&[batch, k, n], 5);
            let attributes = axes([[0], [0]], [[2], [1]]);
            let (a, b) = (lhs.elements::<f32>(), rhs.elements::<f32>());
            for threads in [1, 2, 3] {
                let operands = [lhs.clone(), rhs.clone()];
                let result = (DType::F32, &[batch, m, n][..]);
                let found = with_threads(threads, || {
                    one(&attributes, operands, result, Numerics::Tpu).unwrap().elements::<f32>()
                });
                for (at, &found) in found.iter().enumerate().step_by(997) {
                    let (row, column) = (at / n, at / (m * n) * k * n + at % n);
                    let term = |l: usize| a[row * k + l] * b[column + l * n];
                    assert_eq!(found, (0..k).map(term).sum(), "{at} by {threads} threads");
                }
            }
        }
    }

    #[test]
    fn f32_is_rounded_to_bf16_on_the_matrix_unit_unless_precision_is_asked_for() {
        let a = 1.003_f32;
        let with = |word: &'static str| {
            let mut attributes = matrix();
            let words = vec![Attribute::Word(word.into()); 2];
            attributes.set("precision_config", Attribute::Array(words));
            attributes
        };
        let dot = |attributes: &Attributes, numerics| {
            let side = || TestValue::of(DType::F32, &[2, 2], &[a, 0.0, 0.0, a]);
            let result = one(attributes, [side(), side()], (DType::F32, &[2, 2]), numerics);
            result.unwrap().elements::<f32>()[0]
        };
        let rounded = bf16::from_f32(a).to_f32();
        assert_eq!(dot(&matrix(), Numerics::Tpu), rounded * rounded);
        assert_eq!(dot(&with("DEFAULT"), Numerics::Tpu), rounded * rounded);
        let high = dot(&with("HIGH"), Numerics::Tpu);
        assert!((high - a * a).abs() < 1e-5 && high != rounded * rounded, "{high}");
        assert_eq!(dot(&with("HIGHEST"), Numerics::Tpu), a * a);
        assert_eq!(dot(&matrix(), Numerics::Ieee), a * a);
    }

    #[test]
    fn vectors_do_not_go_through_the_matrix_unit() {
        let a = 1.003_f32;
        let dot = |[lhs, rhs]: [&[usize]; 2], result: &[usize]| {
            let side = |dims: &[usize]| {
                TestValue::of(DType::F32, dims, &vec![a; dims.iter().product::<usize>()])
            };
            let operands = [side(lhs), side(rhs)];
            let result = one(&matrix(), operands, (DType::F32, result), Numerics::Tpu);
            result.unwrap().elements::<f32>()[0]
        };
        let rounded = bf16::from_f32(a).to_f32();
        assert_eq!(dot([&[2, 2], &[2, 2]], &[2, 2]), 2.0 * rounded * rounded);
        assert_eq!(dot([&[2, 2], &[2]], &[2]), 2.0 * a * a);
        assert_eq!(dot([&[1, 2], &[2, 2]], &[1, 2]), 2.0 * a * a);
        assert_eq!(dot([&[2, 1], &[1, 2]], &[2, 2]), a * a);
    }

    #[test]
    fn integers_wrap_in_the_result_type_and_booleans_are_or_of_and() {
        let bytes = |dims, values: [i8; 2]| TestValue::of(DType::S8, dims, &values);
        let result = |dtype| {
            let operands = [bytes(&[1, 2], [-128, 127]), bytes(&[2, 1], [127, 127])];
            one(&matrix(), operands, (dtype, &[1, 1]), Numerics::Tpu).unwrap()
        };
        assert_eq!(result(DType::S32).elements::<i32>(), [-127]);
        assert_eq!(result(DType::S8).elements::<i8>(), [-127]);
        assert_eq!(result(DType::S64).elements::<i64>(), [-127]);
        let flags = |dims, values: [u8; 2]| TestValue::of(DType::Pred, dims, &values);
        for (left, right, wanted) in [([1, 1], [1, 1], 1), ([1, 0], [0, 1], 0)] {
            let operands = [flags(&[1, 2], left), flags(&[2, 1], right)];
            let result = one(&matrix(), operands, (DType::Pred, &[1, 1]), Numerics::Tpu);
            assert_eq!(result.unwrap().elements::<u8>(), [wanted]);
        }
    }

    #[test]
    fn sums_of_bytes_are_exact_on_both_sides_of_what_floats_hold() {
        let extremes = [-128_i8, 127, -1, 0, 77];
        for depth in [1, 64, 1024, 1025, 1031] {
            for (rows, columns) in [(1, 1), (1, 5), (7, 1), (3, 4), (33, 70)] {
                let at = |count: usize, step: usize| -> Vec<i8> {
                    (0..count).map(|i| extremes[i * step % 9 % 5]).collect()
                };
                let (left, right) = (at(rows * depth, 7), at(depth * columns, 4));
                let mut wanted = vec![0_i32; rows * columns];
                for (i, sum) in wanted.iter_mut().enumerate() {
                    let (row, column) = (i / columns, i % columns);
                    *sum = (0..depth)
                        .map(|l| {
                            i32::from(left[row * depth + l])
                                * i32::from(right[l * columns + column])
                        })
                        .sum();
                }
                let signed = [(&left, [rows, depth]), (&right, [depth, columns])]
                    .map(|(values, dims)| TestValue::of(DType::S8, &dims, values));
                let result = (DType::S32, &[rows, columns][..]);
                let found = one(&matrix(), signed, result, Numerics::Tpu).unwrap();
                assert_eq!(found.elements::<i32>(), wanted, "{rows} x {depth} x {columns}");
            }
        }
        // All of the largest, just below and beyond the integers that floats hold.
        for depth in [258, 259, 300] {
            let bytes =
                |dims: [usize; 2]| TestValue::of(DType::U8, &dims, &vec![255_u8; depth * 8]);
            let result = (DType::S32, &[8, 8][..]);
            let operands = [bytes([8, depth]), bytes([depth, 8])];
            let found = one(&matrix(), operands, result, Numerics::Tpu).unwrap();
            let sum = 255 * 255 * i32::try_from(depth).unwrap();
            assert_eq!(found.elements::<i32>(), [sum; 64]);
        }
    }

    #[test]
    fn operands_of_several_types_meet_in_one() {
        let ints = TestValue::of(DType::S32, &[1, 2], &[3, -5]);
        let floats = TestValue::of(DType::F32, &[2, 1], &[0.5_f32, 2.0]);
        let result = one(&matrix(), [ints, floats.clone()], (DType::F32, &[1, 1]), Numerics::Tpu);
        assert_eq!(result.unwrap().elements::<f32>(), [-8.5]);

        let halves = TestValue::of(DType::Bf16, &[1, 2], &[1.5, 256.0].map(bf16::from_f32));
        let result = one(&matrix(), [halves, floats], (DType::Bf16, &[1, 1]), Numerics::Tpu);
        assert_eq!(result.unwrap().elements::<bf16>(), [bf16::from_f32(512.0)]);

        let complex = [Complex::new(1.0_f32, 2.0), Complex::new(0.0, -1.0)];
        let complex = TestValue::of(DType::C64, &[1, 2], &complex);
        let doubles = TestValue::of(DType::F64, &[2, 1], &[3.0_f64, 4.0]);
        let result = one(&matrix(), [complex, doubles], (DType::C128, &[1, 1]), Numerics::Tpu);
        assert_eq!(result.unwrap().elements::<Complex<f64>>(), [Complex::new(3.0, 2.0)]);
    }

    #[test]
    fn algorithms_round_as_they_are_named_and_unknown_ones_are_refused() {
        let a = 1.000_976_6_f32;
        let with = |operand, sum, products: i64| {
            let mut attributes = matrix();
            let scalar = |element| Attribute::Type(Type::Scalar(element));
            attributes.set("lhs_precision_type", scalar(operand));
            attributes.set("rhs_precision_type", scalar(operand));
            attributes.set("accumulation_type", scalar(sum));
            let number = Attribute::Integer(products.into(), Element::S64);
            attributes.set("num_primitive_operations", number);
            let side = || TestValue::of(DType::F32, &[1, 1], &[a]);
            let result = one(&attributes, [side(), side()], (DType::F32, &[1, 1]), Numerics::Ieee);
            result.map(|result| result.elements::<f32>()[0])
        };
        assert_eq!(with(Element::F32, Element::F32, 1), Ok(a * a));
        assert_eq!(with(Element::Bf16, Element::F32, 1), Ok(1.0));
        assert_eq!(with(Element::Bf16, Element::F32, 6), Ok(a * a));
        let rounded = 1.0 + 2_f32.powi(-10);
        assert_eq!(with(Element::Tf32, Element::F32, 1), Ok(rounded * rounded));
        let error = with(Element::F32, Element::F64, 1).unwrap_err();
        assert!(matches!(&error, Error::Unimplemented(what) if what.contains("F32 by F32 in F64")));
    }

    #[test]
    fn empty_sums_are_zero_and_empty_results_are_empty() {
        let empty = |dims: &[usize]| TestValue::of::<f32>(DType::F32, dims, &[]);
        let operands = [empty(&[2, 0]), empty(&[0, 3])];
        let result = one(&matrix(), operands, (DType::F32, &[2, 3]), Numerics::Tpu).unwrap();
        assert_eq!(result.elements::<f32>(), [0.0; 6]);
        let operands = [empty(&[0, 3]), numbers(&[3, 2], 1)];
        let result = one(&matrix(), operands, (DType::F32, &[0, 2]), Numerics::Tpu).unwrap();
        assert_eq!(result.elements::<f32>(), []);
    }

    #[test]
    fn sums_of_one_kind_become_results_of_another() {
        // As XLA has it: summed in the operands' type, then converted.
        let types = |lhs: TestValue, rhs: TestValue, result: DType| {
            one(&axes([[], []], [[0], [0]]), [lhs, rhs], (result, &[]), Numerics::Ieee).unwrap()
        };
        let half =
            |values: [f32; 2]| TestValue::of(DType::F16, &[2], &values.map(half::f16::from_f32));
        let single = |values: [f32; 2]| TestValue::of(DType::F32, &[2], &values);
        let sum = types(single([1.5, 2.25]), single([1.5, 1.0]), DType::S32);
        assert_eq!(sum.elements::<i32>(), [4]);
        let sum = types(single([-3.0, 1.0]), single([1.0, 1.0]), DType::U8);
        assert_eq!(sum.elements::<u8>(), [0]);
        let sum = types(single([0.5, 0.0]), single([0.5, 0.0]), DType::Pred);
        assert_eq!(sum.elements::<u8>(), [1]);
        // 70000 is past the largest f16.
        let sum = types(half([300.0, 1.0]), half([300.0, 0.0]), DType::S32);
        assert_eq!(sum.elements::<i32>(), [i32::MAX]);
        let complex = |values: [[f32; 2]; 2]| {
            TestValue::of(DType::C64, &[2], &values.map(|[re, im]| Complex::new(re, im)))
        };
        let [left, right] = [[[1.0, 2.0], [3.0, 0.0]], [[2.0, 1.0], [0.5, 9.0]]].map(complex);
        assert_eq!(types(left, right, DType::F32).elements::<f32>(), [1.5]);
        let ones = TestValue::of(DType::S32, &[2], &[1_i32, 255]);
        assert_eq!(types(ones.clone(), ones, DType::Pred).elements::<u8>(), [1]);
        // XLA rounds the sums of floats of few bits, and of several types, in its own ways.
        let small = TestValue::of(DType::F8E4M3FN, &[2], &[0x38_u8, 0x40]);
        let long = TestValue::of(DType::F64, &[2], &[1.0, 2.0_f64]);
        let refused = [
            [[small.clone(), small.clone()], [small, single([1.0; 2])]],
            [[single([1.0; 2]), long.clone()], [long, TestValue::of(DType::S8, &[2], &[1_i8, 2])]],
        ];
        for operands in refused.into_iter().flatten() {
            let to = (DType::S32, &[][..]);
            let error = one(&axes([[], []], [[0], [0]]), operands, to, Numerics::Ieee).unwrap_err();
            assert!(matches!(&error, Error::Unimplemented(what) if what.contains("as s32")));
        }
    }

    #[test]
    fn axes_that_do_not_pair_are_refused() {
        let try_axes = |attributes: Attributes| {
            let operands = [numbers(&[2, 3], 1), numbers(&[4, 2], 1)];
            one(&attributes, operands, (DType::F32, &[]), Numerics::Tpu).unwrap_err().to_string()
        };
        let c10 = try_axes(matrix());
        assert!(c10.contains("axis 1 of f32[2,3] against axis 0 of f32[4,2]"), "{c10}");
        let c6 = try_axes(axes([[], []], [[2], [0]]));
        assert!(c6.contains("axis 2 of f32[2,3]"), "{c6}");
        let c3 = try_axes(axes([[0], [1]], [[0], [1]]));
        assert!(c3.contains("axis 0 is named twice"), "{c3}");
    }
}
