//! Tiny products as operations on single elements.
use super::{Builder, known};
use crate::graph::ValueId;
use crate::passes::fuse::FusedStep;
use crate::tuning::MAX_SCALAR_LOOP_STEPS;
use std::collections::HashMap;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::Register;
use tpu_kernels::matmul::tiny::TinyProduct;
use tpu_ops::{ADD, CONVERT, MULTIPLY};

impl Builder<'_> {
    /// A tiny product: products that are added to zero one after the other.
    pub(super) fn product(&mut self, product: &TinyProduct, step: &FusedStep) -> Option<()> {
        let (&[lhs, rhs], &[result]) = (&step.operands[..], &step.results[..]) else { return None };
        let dtype = self.graph.value(result).shape.dtype;
        let [add, multiply] = [&ADD, &MULTIPLY].map(|entry| known(entry, &[dtype; 2], dtype));
        let (add, multiply) = (add?, multiply?);
        let zero = self.constant(dtype, &vec![0; dtype.host_bytes()]);
        let mut read: HashMap<(usize, usize), Register> = HashMap::new();
        let mut registers = Vec::with_capacity(product.terms.len());
        for terms in &product.terms {
            let mut sum = zero;
            for places in terms {
                let mut factors = Vec::with_capacity(2);
                for (side, (value, &at)) in [lhs, rhs].into_iter().zip(places).enumerate() {
                    let factor = match read.get(&(side, at)) {
                        Some(&factor) => factor,
                        None => self.factor(value, at, dtype, product.rounded[side])?,
                    };
                    read.insert((side, at), factor);
                    factors.push(factor);
                }
                let term = self.operation(multiply, factors);
                sum = self.operation(add, vec![sum, term]);
            }
            registers.push(sum);
        }
        if self.program.steps.len() > MAX_SCALAR_LOOP_STEPS {
            return None;
        }
        self.hold(result, dtype.host_bytes(), registers)
    }

    /// An element of an operand as it is multiplied.
    fn factor(
        &mut self,
        value: ValueId,
        at: usize,
        dtype: DType,
        rounded: bool,
    ) -> Option<Register> {
        let element = self.element(value, at * dtype.host_bytes(), dtype)?;
        if !rounded {
            return Some(element);
        }
        let narrow = known(&CONVERT, &[dtype], DType::Bf16)?;
        let wide = known(&CONVERT, &[DType::Bf16], dtype)?;
        let element = self.operation(narrow, vec![element]);
        Some(self.operation(wide, vec![element]))
    }
}
