//! The passes that make a plan of a program, in their order.
//!
//! 1. Import (`import`): calls inlined, shapes inferred and checked, operations lowered.
//! 2. Common subexpressions (`import/common_subexpressions`) and constant folding
//!    (`passes/constant_fold`), node by node while the program is imported: shapes of later
//!    operations may depend on the bytes of earlier ones.
//! 3. Loop invariants (`passes/loop_invariants`), and functions of slices that loops take
//!    (`passes/functions_of_slices`), from graph to graph.
//! 4. One update to a row (`passes/one_hot`), from graph to graph.
//! 5. Sums of padded arrays (`passes/joined_pads`), from graph to graph.
//! 6. Picked elements (`passes/picked`), from graph to graph.
//! 7. Rounded values (`passes/rounded`), masks over all axes (`passes/spread_masks`), views that are undone (`passes/sunk_views`), views before
//!    operations on elements (`passes/lifted_views`), products with other axes
//!    (`passes/regrouped_products`), and parts of arrays (`passes/parted`), from graph to graph.
//! 8. Dead code (`passes/dead_code`), from graph to graph.
//! 9. Absorbed work (`passes/absorbed_work`), from graph to graph.
//! 10. Loop fusion (`passes/fuse/loop_fusion`), from graph to steps.
//! 11. Row fusion (`passes/fuse/row_fusion`), from steps to steps.
//! 12. Scalar loops (`passes/scalar_loops`), from steps to steps.
//! 13. Buffer assignment (`plan/assign`), from steps to a plan.
//! 14. Recomputation (`recompute`), from graph to graph, where that plan is large, and once more
//!     with products where it does not fit: 8 to 13 follow again.
//!
//! What runs next, `interpret` does. No pass changes the bits of a result, which the
//! random programs of `differential` hold each of them to.
use crate::chip_plan::ChipProgram;
use crate::graph::Graph;
use crate::passes::fuse::{StepBlock, loop_fusion, row_fusion};
use crate::passes::{
    absorbed_work, dead_code, functions_of_slices, joined_pads, lifted_views, loop_invariants,
    one_hot, parted, picked, regrouped_products, rounded, scalar_loops, spread_masks, sunk_views,
};
use crate::plan::{Plan, StorageForm, assign};
use crate::recompute;
use crate::tuning::{
    ALWAYS_SHRUNK_BYTES, MIN_LIFTED_BYTES, MIN_ONE_HOT_BYTES, MIN_PARTED_BYTES, MIN_PICKED_BYTES,
    MIN_ROUNDED_BYTES, MIN_SHRUNK_BYTES, SHRUNK_NODES,
};

/// The passes that can be left out: they change how fast a program is, and never what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    /// Small values whose operands are known are computed when a program is imported.
    pub(crate) constant_folding: bool,
    /// An operation that its block has already, with the same operands, is not there twice.
    pub(crate) common_subexpressions: bool,
    /// What no iteration of a loop changes is done before the loop.
    pub(crate) loop_invariants: bool,
    /// Bytes of an array with one update to a row from which on it is made by choices.
    pub(crate) one_hot_from: usize,
    /// Sums of padded arrays that meet nowhere are these arrays side by side.
    pub(crate) joined_pads: bool,
    /// Bytes of an elementwise result from which on a gather takes elements of what it is made of.
    pub(crate) picked_from: usize,
    /// Bytes of a value from which on it is rounded where it is made, if only products that do so
    /// read it.
    pub(crate) rounded_from: usize,
    /// Bytes of an array that one product or reduction makes for the next from which on it is made
    /// part by part.
    pub(crate) parted_from: usize,
    /// Bytes of an array from which on products give results in the order in which these are read,
    /// if they absorb work.
    pub(crate) lifted_from: usize,
    /// What nobody reads is not computed.
    pub(crate) dead_code: bool,
    /// Products read what their operands are transposed or converted from, and give results in the
    /// order that is wanted.
    pub(crate) absorbed_work: bool,
    /// Elementwise operations share loops, and cheap values are made where they are read.
    pub(crate) loop_fusion: bool,
    /// Steps over the same rows run together, some rows at a time.
    pub(crate) row_fusion: bool,
    /// Loops over a few elements are one piece of machine code.
    pub(crate) scalar_loops: bool,
    /// Values take over the memory of those that nobody needs any more.
    pub(crate) memory_reuse: bool,
    /// Code that several devices run is there once for all of them.
    pub(crate) one_body: bool,
    /// Bytes of temporaries from which on elementwise values are made again for late readers.
    pub(crate) shrunk_from: usize,
    /// Whether that is done where nothing gets smaller by it too, for tests.
    pub(crate) always_made_again: bool,
    /// Bytes of temporaries that a device has room for: where a program takes more, products and
    /// reductions are made again too.
    pub room: usize,
}

impl Passes {
    /// Every pass.
    pub const ALL: Self = Self {
        constant_folding: true,
        common_subexpressions: true,
        loop_invariants: true,
        one_hot_from: MIN_ONE_HOT_BYTES,
        joined_pads: true,
        picked_from: MIN_PICKED_BYTES,
        rounded_from: MIN_ROUNDED_BYTES,
        parted_from: MIN_PARTED_BYTES,
        lifted_from: MIN_LIFTED_BYTES,
        dead_code: true,
        absorbed_work: true,
        loop_fusion: true,
        row_fusion: true,
        scalar_loops: true,
        memory_reuse: true,
        one_body: true,
        shrunk_from: MIN_SHRUNK_BYTES,
        always_made_again: false,
        room: usize::MAX,
    };
}

#[cfg(test)]
impl Passes {
    /// None of them.
    pub(crate) const NONE: Self = Self {
        constant_folding: false,
        common_subexpressions: false,
        loop_invariants: false,
        one_hot_from: usize::MAX,
        joined_pads: false,
        picked_from: usize::MAX,
        rounded_from: usize::MAX,
        parted_from: usize::MAX,
        lifted_from: usize::MAX,
        dead_code: false,
        absorbed_work: false,
        loop_fusion: false,
        row_fusion: false,
        scalar_loops: false,
        memory_reuse: false,
        one_body: false,
        shrunk_from: usize::MAX,
        always_made_again: false,
        room: usize::MAX,
    };

    /// All of them, for programs of every size.
    pub(crate) const EAGER: Self =
        Self { shrunk_from: 0, one_hot_from: 0, picked_from: 0, rounded_from: 0, ..Self::ALL };

    /// All of them, with values made again wherever that can be done, products too.
    pub(crate) const ALWAYS: Self = Self { always_made_again: true, room: 0, ..Self::EAGER };

    /// All of them but one, for each that is for programs on one device too.
    pub(crate) const ALL_BUT_ONE: [Self; 14] = [
        Self { constant_folding: false, ..Self::ALL },
        Self { common_subexpressions: false, ..Self::ALL },
        Self { loop_invariants: false, ..Self::ALL },
        Self { one_hot_from: usize::MAX, ..Self::ALL },
        Self { joined_pads: false, ..Self::ALL },
        Self { picked_from: usize::MAX, ..Self::ALL },
        Self { rounded_from: usize::MAX, ..Self::ALL },
        Self { parted_from: usize::MAX, ..Self::ALL },
        Self { dead_code: false, ..Self::ALL },
        Self { absorbed_work: false, ..Self::ALL },
        Self { loop_fusion: false, ..Self::ALL },
        Self { row_fusion: false, ..Self::ALL },
        Self { scalar_loops: false, ..Self::ALL },
        Self { memory_reuse: false, ..Self::ALL },
    ];
}

/// Makes a plan of an imported program.
pub fn plan(graph: &mut Graph, storage: StorageForm<'_>, passes: Passes) -> Plan {
    let chip = (passes.picked_from < usize::MAX).then(|| ChipProgram::of(graph));
    let stored = |plan: &Plan| chip.as_ref().and_then(|chip| chip.beside(plan));
    let beside = |plan: &Plan| stored(plan).map_or(0, |stored| stored.bytes);
    let mut plan = fitted(graph, storage, passes, beside).1;
    plan.stored = stored(&plan);
    plan
}

/// The steps of a program and their plan, which fits into the room that there is if it can. A chip
/// stores so many bytes `beside` a plan.
pub(crate) fn fitted(
    graph: &mut Graph,
    storage: StorageForm<'_>,
    passes: Passes,
    beside: impl Fn(&Plan) -> usize,
) -> (StepBlock, Plan) {
    // What a pass computes has the bits of a run.
    let _mode = graph.numerics.subnormals().enter();
    let (code, plan) = shrunk(graph, storage, passes);
    let room = passes.room.saturating_sub(beside(&plan));
    if passes.room == usize::MAX || recompute::need(&plan) <= room {
        return (code, plan);
    }
    let always = passes.always_made_again;
    let planned = replanner(storage, passes);
    recompute::fit(graph, (storage.donated(), always), room, (code, plan), planned)
}

/// The steps of a program and their plan, which is to be small if it is large.
fn shrunk(graph: &mut Graph, storage: StorageForm<'_>, passes: Passes) -> (StepBlock, Plan) {
    if passes.loop_invariants {
        loop_invariants::hoist(graph);
        functions_of_slices::compute_early(graph);
    }
    one_hot::choose(graph, passes.one_hot_from);
    if passes.joined_pads {
        joined_pads::join(graph);
    }
    picked::pick(graph, passes.picked_from);
    rounded::round(graph, passes.rounded_from);
    if passes.absorbed_work {
        spread_masks::spread(graph, passes.lifted_from);
        let sunk = sunk_views::sink(graph, passes.lifted_from);
        let lifted = lifted_views::lift(graph, passes.lifted_from) || sunk;
        regrouped_products::regroup(graph, passes.lifted_from);
        if lifted && passes.dead_code {
            dead_code::eliminate(graph);
        }
    }
    parted::part(graph, passes.parted_from);
    let planned = planner(storage, passes);
    let first = planned(graph);
    let nodes = graph.main.nodes.len().max(SHRUNK_NODES);
    let least = (passes.shrunk_from / SHRUNK_NODES).saturating_mul(nodes);
    if first.1.arena < least.min(ALWAYS_SHRUNK_BYTES.max(passes.shrunk_from)) {
        return first;
    }
    let planned = replanner(storage, passes);
    recompute::shrink(graph, (storage.donated(), passes.always_made_again), first, planned)
}

/// What makes the steps of a graph and their plan.
fn planner(
    storage: StorageForm<'_>,
    passes: Passes,
) -> impl Fn(&mut Graph) -> (StepBlock, Plan) + Copy {
    move |graph| {
        simplify(graph, passes);
        let code = steps(graph, passes);
        let plan = assign(graph, &code, storage, passes.memory_reuse);
        (code, plan)
    }
}

/// What makes them for a graph in which values are made again. Of those, what now has one reader is
/// made part by part, in the steps and not in the graph, where more may be made again.
fn replanner(
    storage: StorageForm<'_>,
    passes: Passes,
) -> impl Fn(&mut Graph) -> (StepBlock, Plan) + Copy {
    move |graph| {
        simplify(graph, passes);
        let whole = graph.main.clone();
        parted::part(graph, passes.parted_from);
        let code = steps(graph, passes);
        graph.main = whole;
        let plan = assign(graph, &code, storage, passes.memory_reuse);
        (code, plan)
    }
}

/// The passes between loop invariants and loop fusion.
fn simplify(graph: &mut Graph, passes: Passes) {
    if passes.dead_code {
        dead_code::eliminate(graph);
    }
    if passes.absorbed_work {
        absorbed_work::absorb(graph);
    }
}

/// Loop fusion and what comes between it and buffer assignment. Constants that steps read get a
/// `known` value in the graph.
fn steps(graph: &mut Graph, passes: Passes) -> StepBlock {
    let mut code = loop_fusion::fuse(graph, passes.loop_fusion);
    if passes.row_fusion {
        code = row_fusion::fuse(graph, code);
    }
    if passes.scalar_loops {
        scalar_loops::find(graph, &mut code);
    }
    code
}
