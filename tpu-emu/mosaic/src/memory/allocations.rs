//! What a kernel allocates while it runs, and when most of it is there.
use super::{Budget, Role, Taken, Tiling, taken};
use crate::ir::{Block, Function, LocationId, Module, Op, Operation, Type};
use std::collections::HashMap;

/// Finds what functions allocate; what was found for one serves each call of it.
#[derive(Debug)]
pub(super) struct Allocations<'m> {
    module: &'m Module,
    tiling: Tiling,
    /// What is there when most is, of each function; nothing while it is looked at, so that a
    /// function that calls itself ends.
    known: HashMap<&'m str, Vec<Taken>>,
}

/// An allocation, and from which to which moment it is there.
#[derive(Debug)]
struct Lasting {
    taken: Taken,
    from: usize,
    to: usize,
}

impl<'m> Allocations<'m> {
    pub(super) fn new(module: &'m Module, tiling: Tiling) -> Self {
        Self { module, tiling, known: HashMap::new() }
    }

    /// What is there when most of it is, for each memory by itself.
    pub(super) fn peak(&mut self, function: &'m Function) -> Vec<Taken> {
        let mut all = Vec::new();
        let mut now = 0;
        self.block(&function.body, function, &mut now, &mut all);
        let mut most = Vec::new();
        for memory in Budget::MEMORIES {
            let of = || all.iter().filter(|lasting| lasting.taken.memory == memory);
            let mut changes = vec![0_i128; now + 2];
            for Lasting { taken, from, to } in of() {
                changes[*from] += i128::from(taken.size);
                changes[*to] -= i128::from(taken.size);
            }
            let (mut sum, mut best, mut at) = (0, 0, 0);
            for (moment, change) in changes.into_iter().enumerate() {
                sum += change;
                if sum > best {
                    (best, at) = (sum, moment);
                }
            }
            let there = of().filter(|lasting| lasting.from <= at && at < lasting.to);
            most.extend(there.map(|lasting| lasting.taken.clone()));
        }
        most
    }

    fn block(
        &mut self,
        block: &'m Block,
        function: &'m Function,
        now: &mut usize,
        all: &mut Vec<Lasting>,
    ) {
        let first = all.len();
        for operation in &block.operations {
            match operation.op {
                Op::MemrefAlloca | Op::TpuSemAlloc => {
                    all.extend(self.allocated(operation, function, *now + 1));
                    *now += 1;
                }
                Op::FuncCall => {
                    let callee = operation.attributes.get("callee").and_then(|of| of.text());
                    let callee = callee.and_then(|name| self.module.function(name));
                    for taken in callee.map_or_else(Vec::new, |callee| self.called(callee)) {
                        all.push(Lasting { taken, from: *now + 1, to: *now + 2 });
                    }
                    *now += 2;
                }
                _ => {}
            }
            for inner in operation.regions.iter().filter_map(|region| region.block.as_ref()) {
                self.block(inner, function, now, all);
                *now += 1;
            }
        }
        let end = *now + 1;
        for lasting in all[first..].iter_mut().filter(|lasting| lasting.to == usize::MAX) {
            lasting.to = end;
        }
    }

    fn allocated(
        &self,
        operation: &Operation,
        function: &Function,
        from: usize,
    ) -> Option<Lasting> {
        let Type::Memref(memref) = function.type_of(*operation.results.first()?) else {
            return None;
        };
        let location: LocationId = operation.location;
        let taken = taken(memref, Role::Allocated, 1, self.tiling)?;
        Some(Lasting { taken: Taken { location, ..taken }, from, to: usize::MAX })
    }

    fn called(&mut self, callee: &'m Function) -> Vec<Taken> {
        if let Some(known) = self.known.get(&*callee.name) {
            return known.clone();
        }
        self.known.insert(&callee.name, Vec::new());
        let found = self.peak(callee);
        self.known.insert(&callee.name, found.clone());
        found
    }
}
