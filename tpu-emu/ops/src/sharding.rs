//! Shardy's operations, which say where values live and leave them as they are.
use super::{Entry, Lowered, ShardingRule, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;

/// Result `i` is operand `i`: seen as a whole, an array is the same however it is split. A
/// sharding group has no result.
///
/// Shapes: those of the operands.
/// Errors: `BadArgument` for another number of results.
/// Source: Shardy's dialect.
pub(super) const OPS: &[Entry] = &[
    row("sdy.all_gather"),
    row("sdy.all_reduce"),
    row("sdy.all_slice"),
    row("sdy.all_to_all"),
    row("sdy.collective_permute"),
    row("sdy.data_flow_edge"),
    row("sdy.propagation_barrier"),
    row("sdy.reduce_scatter"),
    row("sdy.replicated_to_unreduced"),
    stated("sdy.reshard"),
    row("sdy.sharded_to_unreduced"),
    stated("sdy.sharding_constraint"),
    Entry { sharding: ShardingRule::Grouped, ..row("sdy.sharding_group") },
];

const fn row(mnemonic: &'static str) -> Entry {
    Entry::new(mnemonic, infer, lower)
}

const fn stated(mnemonic: &'static str) -> Entry {
    Entry { sharding: ShardingRule::Stated, ..row(mnemonic) }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    match site.declared.len() {
        0 if site.name == "sdy.sharding_group" => Ok(Vec::new()),
        1 if site.name != "sdy.sharding_group" => Ok(vec![operand.clone()]),
        results => Err(Error::bad(format!("{} has {results} results", site.name))),
    }
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Forward)
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn a_constraint_leaves_its_operand_as_it_is() {
        let case = Case::new("sdy.sharding_constraint").value(DType::U8, &[2], &[1_u8, 2]);
        let op = find("sdy.sharding_constraint").unwrap();
        assert_eq!(case.declares(DType::U8, &[2]).eval::<u8>(op), [1, 2]);
    }

    #[test]
    fn a_group_has_no_result() {
        let group = || Case::new("sdy.sharding_group").operand(DType::U8, &[2]);
        let op = find("sdy.sharding_group").unwrap();
        assert_eq!(group().run(op).unwrap().len(), 0);
        assert!(group().declares(DType::U8, &[2]).shapes(op).contains("has 1 results"));
    }
}
