//! The kernels of a program: whether their cores have the memory that they take, and how a
//! compiled program shows them.
use crate::topology::Generation;
use std::collections::{HashMap, HashSet};
use tpu_base::error::{Code, Error, Result};
use tpu_ops::custom::{PIN, UNPIN};
use tpu_pallas::core_memory::{CalledKernel, CoreMemories, KernelMemory};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Operation, Region, Type, Value};

/// The target of the calls.
const TARGET: &str = "tpu_custom_call";

/// What each kernel takes of its cores' memories.
///
/// # Errors
/// `Verbatim` in the compiler's words for kernels that take more than there is, all at once.
pub(super) fn fit(kernels: &[CalledKernel], generation: &Generation) -> Result<Vec<KernelMemory>> {
    let cores = CoreMemories {
        vmem: generation.vmem.0,
        scoped_vmem: generation.scoped_vmem.0,
        smem: generation.smem.0,
        subcore_vmem: generation.subcore_vmem.0,
        least_words: generation.least_words(),
    };
    let memories: Vec<KernelMemory> = kernels.iter().map(|kernel| kernel.memory(&cores)).collect();
    let refusals: Vec<String> =
        memories.iter().filter_map(|kernel| kernel.too_large(&cores)).collect();
    if refusals.is_empty() {
        return Ok(memories);
    }
    Err(Error::Verbatim { code: Code::ResourceExhausted, message: refusals.join("\n\n").into() })
}

/// Writes into the calls of a program how much vector memory each kernel takes, and leaves out
/// those whose results nobody needs, as compiled programs have them.
pub(super) fn describe(module: &mut Module, kernels: &[KernelMemory]) {
    if kernels.is_empty() {
        return;
    }
    let described: HashMap<&str, String> = kernels
        .iter()
        .filter_map(|kernel| Some((&*kernel.configuration, kernel.described()?)))
        .collect();
    for function in &mut module.functions {
        // XLA's way back from MLIR knows no mutable arrays with layouts, which kernels state; nor
        // arrays that are pinned.
        for of in &mut function.values {
            if let Type::Buffer(tensor) = of {
                *of = Type::Tensor(tensor.clone());
            }
        }
        let mut pinned = HashMap::new();
        unpin(&mut function.body, &mut pinned);
        while drop_unused(&mut function.body) {}
        describe_in(&mut function.body, &described);
    }
}

/// Leaves out the calls that pin arrays and let them go; `pinned` are the arrays that stand for
/// their results.
fn unpin(region: &mut Region, pinned: &mut HashMap<Value, Value>) {
    for block in &mut region.blocks {
        block.operations.retain_mut(|operation| {
            for operand in &mut operation.operands {
                *operand = pinned.get(operand).copied().unwrap_or(*operand);
            }
            let target = operation.attributes.text("call_target_name");
            if !matches!(target, Some(PIN | UNPIN)) {
                operation.regions.iter_mut().for_each(|inner| unpin(inner, pinned));
                return true;
            }
            pinned
                .extend(operation.results.iter().copied().zip(operation.operands.iter().copied()));
            false
        });
    }
}

fn describe_in(region: &mut Region, described: &HashMap<&str, String>) {
    for operation in region.blocks.iter_mut().flat_map(|block| &mut block.operations) {
        operation.regions.iter_mut().for_each(|inner| describe_in(inner, described));
        if !is_kernel(operation) {
            continue;
        }
        let text = operation.attributes.text("backend_config").and_then(|of| described.get(of));
        if let Some(text) = text {
            operation.attributes.set("backend_config", Attribute::string(text));
        }
    }
}

fn is_kernel(operation: &Operation) -> bool {
    operation.attributes.text("call_target_name") == Some(TARGET)
}

/// Whether a call may be left out if nobody needs its results.
fn may_go(operation: &Operation) -> bool {
    let frontend = operation.attributes.get("mhlo.frontend_attributes");
    let allowed = match frontend {
        Some(Attribute::Dictionary(named)) => {
            named.text("xla_allow_dce_side_effecting_op") == Some("true")
        }
        _ => false,
    };
    is_kernel(operation) && (allowed || !operation.attributes.flag("has_side_effect"))
}

/// Leaves out calls of kernels whose results nobody needs; whether there were any.
fn drop_unused(region: &mut Region) -> bool {
    let mut used = HashSet::new();
    uses(region, &mut used);
    let mut dropped = false;
    drop_in(region, &used, &mut dropped);
    dropped
}

fn uses(region: &Region, used: &mut HashSet<Value>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        used.extend(&operation.operands);
        operation.regions.iter().for_each(|inner| uses(inner, used));
    }
}

fn drop_in(region: &mut Region, used: &HashSet<Value>, dropped: &mut bool) {
    for block in &mut region.blocks {
        let before = block.operations.len();
        block.operations.retain(|operation| {
            !may_go(operation) || operation.results.iter().any(|result| used.contains(result))
        });
        *dropped |= block.operations.len() < before;
        for inner in block.operations.iter_mut().flat_map(|operation| &mut operation.regions) {
            drop_in(inner, used, dropped);
        }
    }
}
