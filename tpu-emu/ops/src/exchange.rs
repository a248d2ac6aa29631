//! Collectives of a replica whose run is its own: the kernel waits for those of the others.
use super::{Cost, Cx, Kernel};
use crate::replica_exchange::Collective;
use tpu_base::error::{Error, Result};

/// What becomes of the members' arrays.
#[derive(Debug)]
pub enum Then {
    /// Each of these is a result, by its place in the group.
    Keep(Vec<usize>),
    /// A computation over all of them.
    Compute(Box<dyn Kernel>),
}

/// The exchange of the operand for those of a group's members.
pub fn exchange(collective: Collective, then: Then) -> Box<dyn Kernel> {
    Box::new(Exchange { collective, then })
}

#[derive(Debug)]
struct Exchange {
    collective: Collective,
    then: Then,
}

impl Kernel for Exchange {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let alone = || Error::WrongState(format!("{}: a run without others", self.collective));
        let others = cx.others.ok_or_else(alone)?;
        let given = others.exchange(&self.collective, operands[0])?;
        match &self.then {
            Then::Keep(places) => {
                for (&place, result) in places.iter().zip(results) {
                    result.copy_from_slice(given[place].bytes());
                }
                Ok(())
            }
            Then::Compute(kernel) => {
                let all: Vec<&[u8]> = given.iter().map(|one| one.bytes()).collect();
                kernel.run(cx, &all, results)
            }
        }
    }

    fn scratch(&self) -> usize {
        match &self.then {
            Then::Keep(_) => 0,
            Then::Compute(kernel) => kernel.scratch(),
        }
    }

    fn cost(&self) -> Cost {
        match &self.then {
            Then::Keep(_) => Cost::default(),
            Then::Compute(kernel) => kernel.cost(),
        }
    }

    fn meets_others(&self) -> bool {
        true
    }
}
