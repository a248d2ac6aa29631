//! Custom calls for the largest or smallest elements: `mhlo.topk`, `TopK`, `ApproxTopK` and
//! `PartialReduce`.
//!
//! The approximate ones are exact here, which every recall target allows.
use crate::top_k::{largest, lower_top};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::sort::comparator::keys;
use tpu_kernels::sort::top_k::Top;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// The targets.
pub(super) const TARGETS: &[Entry] = &[
    Entry::target("mhlo.topk", infer_exact, lower_exact),
    Entry::target("TopK", infer_exact, lower_exact),
    Entry::target("ApproxTopK", infer_approximate, lower_approximate),
    Entry::target("stablehlo.dynamic_approx_top_k", infer_approximate, lower_approximate),
    Entry::target("PartialReduce", infer_approximate, lower_approximate),
];

/// The call's own attributes, wherever they stand.
fn dictionary<'a>(site: &Site<'a>) -> Option<&'a Attributes> {
    let names = ["mhlo.attributes", "mhlo.backend_config", "backend_config"];
    names.into_iter().find_map(|name| match site.attributes.get(name) {
        Some(Attribute::Dictionary(attributes)) => Some(attributes),
        _ => None,
    })
}

/// An integer of the call: from its dictionary, or from a backend configuration in JSON.
fn integer(site: &Site<'_>, name: &str) -> Option<i64> {
    if let Some(found) = dictionary(site).and_then(|attributes| attributes.integer(name)) {
        return Some(found);
    }
    let text = site.attributes.text("backend_config")?;
    let (_, rest) = text.split_once(&format!("\"{name}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find(|letter: char| letter != '-' && !letter.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The number of elements wanted: as stated, else as many as the results have.
fn exact(site: &Site<'_>) -> Result<usize> {
    if let Some(k) = integer(site, "k") {
        let negative = |_| Error::bad(format!("{}: k is {k}", site.name));
        return usize::try_from(k).map_err(negative);
    }
    let values = site.declared(0)?;
    let scalar = || Error::bad(format!("{}: values {values}", site.name));
    values.dims.last().copied().ok_or_else(scalar)
}

fn infer_exact(site: &Site<'_>) -> Result<Vec<Shape>> {
    largest(site, exact(site)?)
}

fn lower_exact(site: &Site<'_>) -> Result<Lowered> {
    let stated = match site.bodies.first() {
        Some(body) => {
            let keys = body.program().and_then(keys);
            match keys.as_deref() {
                Some([key]) if key.operand == 0 => Some(key.descending),
                _ => return Err(site.unimplemented("a comparator that is no known order")),
            }
        }
        None => None,
    };
    let largest = match dictionary(site).and_then(|attributes| attributes.get("largest")) {
        Some(Attribute::Bool(largest)) => Some(*largest),
        _ => None,
    };
    lower_top(site, exact(site)?, largest.or(stated).unwrap_or(true))
}

/// Inputs, then an initial value for each; perhaps the number wanted as an operand behind them.
fn inputs<'a>(site: &Site<'a>) -> Result<(&'a [Shape], usize)> {
    let inputs = &site.operands[..site.operands.len() / 2];
    let Some(first) = inputs.first() else {
        return Err(Error::bad(format!("{} has {} operands", site.name, site.operands.len())));
    };
    if let Some(other) = inputs.iter().find(|input| input.dims != first.dims) {
        return Err(Error::bad(format!("{}: {other} beside {first}", site.name)));
    }
    let initial = &site.operands[inputs.len()..];
    for (input, initial) in inputs.iter().zip(initial) {
        if initial.rank() != 0 || initial.dtype != input.dtype {
            return Err(Error::bad(format!("{}: {input} starts from {initial}", site.name)));
        }
    }
    let axis = integer(site, "reduction_dim").and_then(|axis| usize::try_from(axis).ok());
    match axis.filter(|&axis| axis < first.rank()) {
        Some(axis) => Ok((inputs, axis)),
        None => Err(Error::bad(format!("{}: no axis to reduce in {first}", site.name))),
    }
}

fn infer_approximate(site: &Site<'_>) -> Result<Vec<Shape>> {
    let (inputs, axis) = inputs(site)?;
    let declared = site.declared(0)?;
    let fits = |(of, (found, wanted)): (usize, (&usize, &usize))| of == axis || found == wanted;
    let same = declared.rank() == inputs[0].rank()
        && declared.dims.iter().zip(&inputs[0].dims).enumerate().all(fits);
    let wanted = integer(site, "top_k").and_then(|k| usize::try_from(k).ok()).unwrap_or(0);
    let aggregate = dictionary(site).is_some_and(|attributes| attributes.flag("aggregate_to_topk"));
    let count = declared.dims.get(axis).copied().unwrap_or(0);
    if !same || count < wanted || (aggregate && count > wanted && wanted > 0) {
        let what = format!("{wanted} along axis {axis} of {} are {declared}", inputs[0]);
        return Err(Error::bad(format!("{}: {what}", site.name)));
    }
    Ok(inputs.iter().map(|input| declared.with(input.dtype)).collect())
}

fn lower_approximate(site: &Site<'_>) -> Result<Lowered> {
    let (inputs, axis) = inputs(site)?;
    let count = site.declared(0)?.dims[axis];
    let keys = site.body(0)?.program().and_then(keys);
    let key = match keys.as_deref() {
        Some(&[key]) if key.operand < inputs.len() => key,
        _ => return Err(site.unimplemented("a comparator that is no known order")),
    };
    let top = Top::new(&inputs[0], axis, count, key)
        .ok_or_else(|| site.unimplemented(format!("the first {count} of {}", inputs[0])))?;
    let widths = inputs.iter().map(|input| input.dtype.host_bytes()).collect();
    Ok(Lowered::Kernel(Box::new(Approximate { top, key: key.operand, count, widths })))
}

/// The first elements of each row, of several arrays in the order of one.
#[derive(Debug)]
struct Approximate {
    top: Top,
    key: usize,
    count: usize,
    widths: Vec<usize>,
}

impl Kernel for Approximate {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (inputs, initial) = operands.split_at(self.widths.len());
        self.top.run(inputs[self.key], cx.scratch, &mut |row| {
            let arrays = inputs.iter().zip(initial).zip(&mut *results).zip(&self.widths);
            for (((input, initial), result), &width) in arrays {
                let elements = row
                    .indices()
                    .map(|index| &input[(row.from + index * row.step) * width..][..width]);
                let elements = elements.chain(std::iter::repeat(&initial[..width]));
                for (index, element) in elements.take(self.count).enumerate() {
                    result[(row.to + index * row.step) * width..][..width].copy_from_slice(element);
                }
            }
        });
        Ok(())
    }

    fn scratch(&self) -> usize {
        self.top.scratch()
    }

    fn cost(&self) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "a count that is reported rounded")]
        let flops = self.top.elements() as f64;
        Cost { flops, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::RegionCode;
    use crate::custom::find;
    use crate::testing::{Case, TestRegion, TestValue, attributes, step};
    use std::sync::Arc;
    use tpu_base::tensor::{DType, Shape};
    use tpu_kernels::elementwise::program::Register::{Parameter, Step};
    use tpu_stablehlo::ir::{Attribute, Element};

    fn comparator(direction: &'static str) -> Arc<dyn RegionCode> {
        comparator_of(DType::F32, direction)
    }

    fn comparator_of(float: DType, direction: &'static str) -> Arc<dyn RegionCode> {
        let int = DType::S32;
        let list = [("comparison_direction", Attribute::Word(direction.into()))];
        let compare = step("stablehlo.compare", &list, &[float; 2], DType::Pred);
        let steps = vec![(compare, vec![Parameter(0), Parameter(1)])];
        TestRegion::steps(&[float, float, int, int], steps, &[Step(0)])
    }

    /// The first of `[3, 1, 2, 5, 4]` (twice, along axis 0) and where they are.
    fn approximate(direction: &'static str, k: i128, count: usize) -> (Vec<f32>, Vec<i32>) {
        let x: Vec<f32> = [3.0, 1.0, 2.0, 5.0, 4.0].into_iter().flat_map(|x| [x, -x]).collect();
        let places: Vec<i32> = (0..5).flat_map(|at| [at; 2]).collect();
        let x = TestValue::of(DType::F32, &[5, 2], &x);
        let places = TestValue::of(DType::S32, &[5, 2], &places);
        let low = TestValue::of(DType::F32, &[], &[f32::NEG_INFINITY]);
        let none = TestValue::of(DType::S32, &[], &[-1]);
        let config = attributes(&[
            ("reduction_dim", Attribute::Integer(0, Element::S64)),
            ("top_k", Attribute::Integer(k, Element::S64)),
            ("aggregate_to_topk", Attribute::Bool(i128::try_from(count) == Ok(k))),
        ]);
        let list = [("mhlo.backend_config", Attribute::Dictionary(config))];
        let declared = [DType::F32, DType::S32].map(|dtype| Shape::new(dtype, [count, 2]));
        let operands = [&x, &places, &low, &none];
        let bodies = [comparator(direction)];
        let found = Case::new("ApproxTopK")
            .attributes(&list)
            .given(&operands)
            .bodies(&bodies)
            .declares_all(&declared)
            .results(find("ApproxTopK").unwrap())
            .unwrap();
        (found[0].elements(), found[1].elements())
    }

    #[test]
    fn approximate_ones_are_exact() {
        let (values, places) = approximate("GT", 2, 2);
        assert_eq!(values, [5.0, -1.0, 4.0, -2.0]);
        assert_eq!(places, [3, 1, 4, 2]);
        let (values, places) = approximate("LT", 1, 2);
        assert_eq!(values, [1.0, -5.0, 2.0, -4.0]);
        assert_eq!(places, [1, 3, 2, 4]);
    }

    #[test]
    fn floats_of_eight_bits_and_fewer_are_compared_too() {
        let check = |dtype: DType, values: &[u8], wanted: &[u8], places: [i32; 3]| {
            let count = values.len();
            let x = TestValue::of(dtype, &[count], values);
            let at: Vec<i32> = (0..).take(count).collect();
            let at = TestValue::of(DType::S32, &[count], &at);
            let [low, none] =
                [TestValue::of(dtype, &[], &[0_u8]), TestValue::of(DType::S32, &[], &[-1])];
            let config = attributes(&[
                ("reduction_dim", Attribute::Integer(0, Element::S64)),
                ("top_k", Attribute::Integer(3, Element::S64)),
                ("aggregate_to_topk", Attribute::Bool(true)),
            ]);
            let list = [("mhlo.backend_config", Attribute::Dictionary(config))];
            let declared = [dtype, DType::S32].map(|dtype| Shape::new(dtype, [3]));
            let bodies = [comparator_of(dtype, "GT")];
            let operands = [&x, &at, &low, &none];
            let found = Case::new("ApproxTopK")
                .attributes(&list)
                .given(&operands)
                .bodies(&bodies)
                .declares_all(&declared)
                .results(find("ApproxTopK").unwrap())
                .unwrap();
            assert_eq!(found[0].elements::<u8>(), wanted, "{dtype:?}");
            assert_eq!(found[1].elements::<i32>(), places, "{dtype:?}");
        };
        // -3, 1, NaN, -0, 0, 2: numbers first, zeros alike.
        let numbers = [0xc4, 0x38, 0x7f, 0x80, 0, 0x40];
        check(DType::F8E4M3FN, &numbers, &[0x40, 0x38, 0x80], [5, 1, 3]);
        // NaN is where others have negative zero.
        check(DType::F8E4M3FNUZ, &[0x80, 0x40, 0xc0, 0], &[0x40, 0, 0xc0], [1, 3, 2]);
        check(DType::F4E2M1FN, &[9, 8, 0, 7], &[7, 8, 0], [3, 1, 2]);
        check(DType::F8E8M0FNU, &[0xff, 3, 0, 127], &[127, 3, 0], [3, 1, 2]);
    }

    #[test]
    fn results_past_the_row_are_initial_values() {
        let (values, places) = approximate("GT", 3, 6);
        assert_eq!(values[8..], [1.0, -5.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
        assert_eq!(places[8..], [1, 3, -1, -1]);
    }

    #[test]
    fn the_smallest_come_first_on_request() {
        let x = TestValue::of(DType::S32, &[4], &[3, 1, 2, 1]);
        let config = attributes(&[
            ("k", Attribute::Integer(3, Element::S64)),
            ("largest", Attribute::Bool(false)),
        ]);
        let list = [("mhlo.attributes", Attribute::Dictionary(config))];
        let found = Case::new("mhlo.topk")
            .attributes(&list)
            .given(&[&x])
            .results(find("mhlo.topk").unwrap())
            .unwrap();
        assert_eq!(found[0].elements::<i32>(), [1, 1, 2]);
        assert_eq!(found[1].elements::<i32>(), [1, 3, 2]);
    }
}
