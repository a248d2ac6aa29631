//! Which products and reductions are made again where a program does not fit.
use super::cut::Cut;
use crate::graph::{Node, NodeKind, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A product or reduction that is made early and needed late.
struct DearValue {
    value: ValueId,
    /// Arithmetic to make it again, for each byte of it.
    work: f64,
    /// The first late node that needs it.
    reader: usize,
}

/// Products and reductions that are made early and read late, of together `excess` bytes or the
/// last one more, if there are so many: those with the least work for their bytes, and of
/// equals those that are read last. None of them is made of another: that would have to be made
/// again with it.
pub(super) fn products_made_again(cut: &Cut<'_>, excess: usize) -> FxHashSet<ValueId> {
    let mut seen = FxHashSet::default();
    let mut products = Vec::new();
    for (reader, node) in cut.code.nodes.iter().enumerate().skip(cut.at) {
        for value in products_of(cut, &node.operands, &mut seen) {
            let maker = &cut.code.nodes[cut.maker[&value]];
            products.push(DearValue { value, work: work(cut, maker, value), reader });
        }
    }
    products
        .sort_by(|one, other| one.work.total_cmp(&other.work).then(other.reader.cmp(&one.reader)));
    let needs: FxHashMap<ValueId, Vec<ValueId>> = products
        .iter()
        .map(|&DearValue { value, .. }| {
            let maker = &cut.code.nodes[cut.maker[&value]];
            (value, products_of(cut, &maker.operands, &mut FxHashSet::default()))
        })
        .collect();
    let mut chosen = FxHashSet::default();
    let mut needed: FxHashSet<ValueId> = FxHashSet::default();
    let mut saved = 0_usize;
    for DearValue { value, .. } in products {
        if saved >= excess {
            break;
        }
        let of = &needs[&value];
        if !needed.contains(&value) && of.iter().all(|value| !chosen.contains(value)) {
            chosen.insert(value);
            needed.extend(of);
            saved = saved.saturating_add(cut.graph.bytes(value));
        }
    }
    chosen
}

/// The early products and reductions that values are made of by what is made again in any case,
/// but for those that are there.
fn products_of(cut: &Cut<'_>, values: &[ValueId], seen: &mut FxHashSet<ValueId>) -> Vec<ValueId> {
    let mut found = Vec::new();
    let mut open = values.to_vec();
    while let Some(value) = open.pop() {
        if cut.is_there(value) || !seen.insert(value) {
            continue;
        }
        let Some(&maker) = cut.maker.get(&value) else { continue };
        let node = &cut.code.nodes[maker];
        if is_product(node) && cut.graph.bytes(value) >= cut.manner.least {
            found.push(value);
        } else if cut.cost(node).is_some() {
            open.extend(&node.operands);
        }
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "what costs more needs no last digit")]
fn work(cut: &Cut<'_>, node: &Node, value: ValueId) -> f64 {
    let NodeKind::Kernel(kernel) = &node.work else { return 0.0 };
    kernel.cost().flops / cut.graph.bytes(value).max(1) as f64
}

/// Whether a node gives the same each time for the same operands, and is a product or a reduction.
fn is_product(node: &Node) -> bool {
    let NodeKind::Kernel(kernel) = &node.work else { return false };
    let known = kernel.absorbs() || kernel.reduction().is_some();
    known && !node.effect && node.results.len() == 1
}
