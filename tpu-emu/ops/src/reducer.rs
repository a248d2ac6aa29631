//! The body of a reduction: what it may be, what it costs, and how results accumulate through it.
use super::{Cost, RegionCode, Site};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::{ElementwiseProgram, Register};
use tpu_kernels::reduce::argminmax::{PickLoops, is_pick, pick_loops};
use tpu_kernels::reduce::combiner::Combiner;

/// A region `(results…, elements…) -> results…` over scalars.
#[derive(Debug, Clone)]
pub(super) struct Reducer {
    body: Arc<dyn RegionCode>,
    dtypes: Vec<DType>,
    pick: Option<PickLoops>,
}

impl Reducer {
    /// Region `index` of an operation, which must take and give these types.
    ///
    /// # Errors
    /// `Constraint` for a region of another form, `Unimplemented` for one that promotes.
    pub(super) fn of(
        site: &Site<'_>,
        index: usize,
        dtypes: &[DType],
        constraint: &'static str,
    ) -> Result<Self> {
        let body = Arc::clone(site.body(index)?);
        let (count, parameters, results) = (dtypes.len(), body.parameters(), body.results());
        let scalars = |shapes: &[Shape]| shapes.iter().all(|shape| shape.rank() == 0);
        if parameters.len() != 2 * count
            || results.len() != count
            || !scalars(parameters)
            || !scalars(results)
        {
            let what = format!("{parameters:?} to {results:?} is no body for {count} inputs");
            return Err(site.violates(constraint, what));
        }
        let same = |shapes: &[Shape]| shapes.iter().map(|shape| shape.dtype).eq(dtypes.to_owned());
        let (accumulated, elements) = parameters.split_at(count);
        if !(same(accumulated) && same(elements) && same(results)) {
            let what = format!("a body {parameters:?} to {results:?} for inputs of {dtypes:?}");
            return Err(site.unimplemented(what));
        }
        let pick = body.program().and_then(pick_loops);
        Ok(Self { body, dtypes: dtypes.to_owned(), pick })
    }

    /// The combiner that the body is, for a single input.
    pub(super) fn combiner(&self) -> Option<(Combiner, DType)> {
        let [dtype] = self.dtypes[..] else { return None };
        Some((super::combiner(&*self.body)?, dtype))
    }

    /// The body as elementwise code, where it is that.
    pub(super) fn program(&self) -> Option<&ElementwiseProgram> {
        self.body.program()
    }

    /// Whether the body gives back the elements, whatever was held.
    pub(super) fn overwrites(&self) -> bool {
        let count = self.dtypes.len();
        let elements = (count..2 * count).map(Register::Parameter);
        self.body.program().is_some_and(|program| elements.eq(program.results.iter().copied()))
    }

    /// Whether the body is an associative one that picks an extreme value with its index.
    pub(super) fn picks(&self) -> bool {
        self.body.program().is_some_and(is_pick)
    }

    /// The loops of a body that picks, where its types have some.
    pub(super) fn pick_loops(&self) -> Option<PickLoops> {
        self.pick
    }

    /// Arithmetic of `times` evaluations.
    pub(super) fn cost(&self, times: usize) -> Cost {
        cost(&*self.body, times)
    }

    /// Bytes of an element of each input.
    pub(super) fn widths(&self) -> impl Iterator<Item = usize> + Clone {
        self.dtypes.iter().map(|dtype| dtype.host_bytes())
    }

    /// `held = body(held, elements)` for `lanes` lanes; `next` is room of the same size as
    /// `held`, and may be exchanged with it.
    ///
    /// # Errors
    /// Those of the body.
    pub(super) fn step<'a>(
        &self,
        lanes: usize,
        held: &mut Vec<&'a mut [u8]>,
        elements: &[&[u8]],
        next: &mut Vec<&'a mut [u8]>,
    ) -> Result<()> {
        if let (Some(pick), [values, indices], &[value, index], &[wide, narrow]) =
            (self.pick, &mut held[..], elements, &self.dtypes[..])
        {
            let [wide, narrow] = [wide, narrow].map(|dtype| lanes * dtype.host_bytes());
            let held = [&mut values[..wide], &mut indices[..narrow]];
            (pick.columns)(held, [&value[..wide], &index[..narrow]], [1, 0]);
            return Ok(());
        }
        let mut inputs: Vec<&[u8]> = Vec::with_capacity(2 * elements.len());
        inputs.extend(held.iter().zip(self.widths()).map(|(held, width)| &held[..lanes * width]));
        inputs.extend_from_slice(elements);
        let mut outputs: Vec<&mut [u8]> = next
            .iter_mut()
            .zip(self.widths())
            .map(|(next, width)| &mut next[..lanes * width])
            .collect();
        self.body.apply(lanes, &inputs, &mut outputs)?;
        std::mem::swap(held, next);
        Ok(())
    }
}

/// The inputs of a reduction, checked against the initial values that follow them and the body.
/// `labels` name the constraints on the inputs' number, shapes and types, and on the body.
pub(super) fn inputs<'a>(
    site: &Site<'a>,
    labels: [&'static str; 4],
) -> Result<(&'a [Shape], Reducer)> {
    let [number, shapes, types, body] = labels;
    let count = site.operands.len() / 2;
    if count == 0 || !site.operands.len().is_multiple_of(2) {
        let what = format!("{} operands are no inputs with initial values", site.operands.len());
        return Err(site.violates(number, what));
    }
    let (inputs, initial) = site.operands.split_at(count);
    for (input, initial) in inputs.iter().zip(initial) {
        if input.dims != inputs[0].dims {
            return Err(site.violates(shapes, format!("{input} beside {}", inputs[0])));
        }
        if initial.dtype != input.dtype || initial.rank() != 0 {
            return Err(site.violates(types, format!("{input} starts from {initial}")));
        }
    }
    let dtypes: Vec<DType> = inputs.iter().map(|input| input.dtype).collect();
    Ok((inputs, Reducer::of(site, 0, &dtypes, body)?))
}

/// Arithmetic of `times` evaluations of a region.
pub(super) fn cost(body: &dyn RegionCode, times: usize) -> Cost {
    let (mut flops, mut transcendentals) = (0_u32, 0_u32);
    match body.program() {
        Some(program) => {
            for step in &program.steps {
                let count = if step.op.transcendental { &mut transcendentals } else { &mut flops };
                *count += 1;
            }
        }
        None => flops = 1,
    }
    #[expect(clippy::cast_precision_loss, reason = "a count that is reported rounded")]
    let times = times as f64;
    Cost { flops: times * f64::from(flops), transcendentals: times * f64::from(transcendentals) }
}

/// Fills `to` with copies of one element.
pub(super) fn splat(element: &[u8], to: &mut [u8]) {
    if element.is_empty() {
        return;
    }
    for to in to.chunks_exact_mut(element.len()) {
        to.copy_from_slice(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use tpu_base::tensor::subnormals::Subnormals;
    use tpu_kernels::reduce::dyn_combiner::folder;
    use tpu_stablehlo::ir::Attributes;

    const TYPES: [DType; 14] = [
        DType::Pred,
        DType::S8,
        DType::U8,
        DType::S16,
        DType::U16,
        DType::S32,
        DType::U32,
        DType::S64,
        DType::U64,
        DType::Bf16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
    ];

    /// The bits of numbers; all NaN have the same.
    fn settled(dtype: DType, bytes: &[u8]) -> Vec<u64> {
        let float = match dtype {
            DType::Bf16 => Some(half::bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64()),
            DType::F16 => Some(half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f64()),
            DType::F32 | DType::C64 => {
                let parts = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned::<f32>);
                return parts.map(|x| if x.is_nan() { 1 } else { x.to_bits().into() }).collect();
            }
            DType::F64 => Some(bytemuck::pod_read_unaligned(bytes)),
            _ => None,
        };
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        vec![if float.is_some_and(f64::is_nan) { 1 } else { u64::from_le_bytes(word) }]
    }

    #[test]
    fn a_combiner_gives_what_its_operation_gives() {
        let mut seed = 7_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed ^ seed >> 29
        };
        let mut pairs = 0;
        for (mode, dtype) in [Subnormals::Kept, Subnormals::Flushed]
            .iter()
            .flat_map(|mode| TYPES.map(|of| (mode, of)))
        {
            let _mode = mode.enter();
            for name in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"] {
                let op = find(name).unwrap().on_scalars(&Attributes::default(), &[dtype; 2], dtype);
                let Ok(op) = op else { continue };
                let Some(fold) = folder(Combiner::of(op.kind).unwrap(), dtype) else { continue };
                pairs += 1;
                for at in 0..400 {
                    let [a, b] = [(); 2].map(|()| match (dtype, at % 4) {
                        (DType::Pred, _) => random() & 1,
                        // Zeros of both signs, ends, numbers with few bits.
                        (_, 0) => (random() & 1) << (dtype.host_bytes() * 8 - 1),
                        (_, 1) => 0xff80_ff80_ff80_ff80 & random() << 32 | 0xff80_ff80,
                        (_, 2) => random() & 0x8007_8007_8007_8007,
                        _ => random(),
                    });
                    let (a, b) = ([a], [b]);
                    let [a, b] = [&a, &b].map(|x| &bytemuck::cast_slice(x)[..dtype.host_bytes()]);
                    let [mut alone, mut folded] = [[0_u64]; 2];
                    let to = &mut bytemuck::cast_slice_mut(&mut alone)[..dtype.host_bytes()];
                    (op.run)(op.immediate, &[a, b], to);
                    let alone = settled(dtype, to);
                    let to = &mut bytemuck::cast_slice_mut(&mut folded)[..dtype.host_bytes()];
                    fold.rows(b, 1, a, to);
                    assert_eq!(
                        settled(dtype, to),
                        alone,
                        "{mode:?} {name} {dtype:?} {a:x?} {b:x?}"
                    );
                }
            }
        }
        assert!(pairs > 100, "{pairs}");
    }
}
