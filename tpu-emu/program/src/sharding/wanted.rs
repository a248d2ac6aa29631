//! How the parameters of a program are split where it leaves that to the compiler: as what is
//! made of them.
use super::Sharding;
use super::derived::{Derivation, merged, picked, reshaped};
use super::propagate::{Propagation, axes, dims};
use crate::tuning::MAX_SHARDED_CALL_DEPTH;
use std::collections::{HashMap, HashSet};
use tpu_ops::{Operator, ShardingRule, Structural, callee};
use tpu_stablehlo::ir::{Attribute, Function, Operation, Region, Value};

/// The shardings of a function's parameters, from those that are given and those of the results.
///
/// It follows the program from the given ones on first ([`Propagation`]), and from what is known
/// then back to the others.
pub(super) fn parameters<'m>(
    forward: &mut Propagation<'m>,
    function: &'m Function,
    given: Vec<Derivation>,
    results: &[Derivation],
    depth: usize,
) -> Vec<Derivation> {
    let [block] = &function.body.blocks[..] else { return given };
    let mut known = HashMap::new();
    forward.follow(function, block, &given, &mut known, depth);
    let mut uses = HashMap::new();
    note_uses(std::slice::from_ref(&function.body), &mut uses);
    let seen = HashSet::new();
    let mut back = Back { forward, function, known, uses, seen, results, depth };
    let parameters = block.arguments.iter().zip(given);
    parameters.map(|(&value, given)| given.or_else(|| back.wanted(value))).collect()
}

/// Where each value is an operand, and which.
type Uses<'m> = HashMap<Value, Vec<(&'m Operation, usize)>>;

fn note_uses<'m>(regions: &'m [Region], uses: &mut Uses<'m>) {
    let blocks = regions.iter().flat_map(|region| &region.blocks);
    for operation in blocks.flat_map(|block| &block.operations) {
        for (at, &value) in operation.operands.iter().enumerate() {
            uses.entry(value).or_default().push((operation, at));
        }
        note_uses(&operation.regions, uses);
    }
}

/// The way back through one function.
struct Back<'a, 'm> {
    forward: &'a mut Propagation<'m>,
    function: &'m Function,
    known: HashMap<Value, Sharding>,
    uses: Uses<'m>,
    /// Values whose uses were looked at, or are.
    seen: HashSet<Value>,
    /// What the function's results are split as.
    results: &'a [Derivation],
    depth: usize,
}

impl<'m> Back<'_, 'm> {
    /// The sharding of a value.
    fn wanted(&mut self, value: Value) -> Derivation {
        if let Some(known) = self.known.get(&value) {
            return Some(known.clone());
        }
        if !self.seen.insert(value) {
            return None;
        }
        let extents: Option<Vec<usize>> = self
            .dims(value)
            .and_then(|dims| dims.iter().map(|&dim| usize::try_from(dim).ok()).collect());
        let extents = extents?;
        let mut found = None;
        for (operation, at) in self.uses.get(&value).cloned().unwrap_or_default() {
            // Axes that are not divided by their shards are not split.
            let by_use = self.by_use(operation, at).and_then(|sharding| {
                let fits = |axis: usize| extents[axis].is_multiple_of(sharding.shards[axis]);
                let axes = (0..extents.len()).map(|axis| fits(axis).then_some(axis));
                (sharding.shards.len() == extents.len()).then(|| picked(&sharding, axes)).flatten()
            });
            found = merged([found, by_use]);
        }
        let found = found.filter(|sharding| !sharding.is_replicated())?;
        self.known.insert(value, found.clone());
        Some(found)
    }

    fn dims(&self, value: Value) -> Option<&'m [i64]> {
        dims(self.function, value)
    }

    /// What an operation makes of its operand `at` says how that is split.
    fn by_use(&mut self, operation: &'m Operation, at: usize) -> Derivation {
        match Operator::of(operation) {
            Operator::Structural(structural) => match structural {
                Structural::Return => self.results.get(at)?.clone(),
                Structural::ManualComputation => match operation.attributes.get("in_shardings") {
                    Some(Attribute::Shardings(all)) => self.forward.stated(all.get(at)?),
                    _ => None,
                },
                Structural::Call | Structural::Composite => {
                    let module = self.forward.module();
                    let callee = callee(operation).and_then(|name| module.function(name))?;
                    if self.depth >= MAX_SHARDED_CALL_DEPTH {
                        return None;
                    }
                    let given =
                        operation.operands.iter().map(|value| self.known.get(value).cloned());
                    let given = given.collect();
                    let results: Vec<Derivation> =
                        (0..operation.results.len()).map(|at| self.made(operation, at)).collect();
                    let (forward, depth) = (&mut *self.forward, self.depth + 1);
                    parameters(forward, callee, given, &results, depth).into_iter().nth(at)?
                }
                Structural::While => {
                    let inside = operation.regions.get(1).and_then(|region| region.blocks.first());
                    let inside = inside.and_then(|block| block.arguments.get(at).copied());
                    let inside = inside.and_then(|parameter| self.wanted(parameter));
                    merged([inside, self.made(operation, at)])
                }
                Structural::If | Structural::Case => None,
                Structural::Tuple
                | Structural::GetTupleElement
                | Structural::NamedComputation
                | Structural::ConversionCast
                | Structural::Yield => self.same(operation, at, false),
            },
            Operator::Row(entry) => self.by_row(operation, entry.sharding, at),
            Operator::Registered | Operator::Unknown => None,
        }
    }

    /// The sharding of a result of an operation.
    fn made(&mut self, operation: &'m Operation, at: usize) -> Derivation {
        operation.results.get(at).copied().and_then(|result| self.wanted(result))
    }

    /// What an operation of the tables makes of its operand `at` says how that is split.
    fn by_row(&mut self, operation: &'m Operation, rule: ShardingRule, at: usize) -> Derivation {
        let attributes = &operation.attributes;
        let axes = |name: &str| axes(operation, name);
        let rank = self.dims(*operation.operands.get(at)?)?.len();
        match rule {
            ShardingRule::Stated => match attributes.get("sharding") {
                Some(Attribute::Sharding(sharding)) => self.forward.stated(sharding),
                _ => None,
            },
            ShardingRule::Annotated => {
                let text = attributes.text("mhlo.sharding")?;
                Sharding::parse(text, rank, self.forward.devices()).ok()
            }
            ShardingRule::Permuted => {
                let order = axes("permutation");
                let to = (0..rank).map(|axis| order.iter().position(|&from| from == axis));
                picked(&self.made(operation, 0)?, to)
            }
            ShardingRule::Broadcast => {
                let to = axes("broadcast_dimensions");
                let from = self.made(operation, 0)?;
                picked(&from, (0..rank).map(|axis| to.get(axis).copied()))
            }
            ShardingRule::Reduced => {
                let gone = axes("dimensions");
                let mut next = 0..rank;
                let to = (0..rank).map(|axis| match gone.contains(&axis) {
                    true => None,
                    false => next.next(),
                });
                let count = operation.results.len();
                picked(&self.made(operation, at).filter(|_| at < count)?, to)
            }
            ShardingRule::Reshaped => {
                let from = self.dims(*operation.results.first()?)?;
                let to = self.dims(*operation.operands.first()?)?;
                reshaped(&self.made(operation, 0)?, from, to)
            }
            ShardingRule::Contracted => {
                let sides = [("lhs", 0), ("rhs", 1)];
                let [batch, sum] = ["batching", "contracting"]
                    .map(|what| sides.map(|(side, _)| axes(&format!("{side}_{what}_dimensions"))));
                self.factor(operation, at, (&batch, &sum))
            }
            ShardingRule::Same | ShardingRule::Gathered | ShardingRule::Grouped => {
                self.same(operation, at, false)
            }
            ShardingRule::Pieces => self.same(operation, at, true),
            ShardingRule::Split
            | ShardingRule::Join
            | ShardingRule::Moved
            | ShardingRule::Inspected
            | ShardingRule::Windowed
            | ShardingRule::Whole => None,
        }
    }

    /// An operand as the results of its rank, along axes of the same extent, or along `all`.
    fn same(&mut self, operation: &'m Operation, at: usize, all: bool) -> Derivation {
        let had = self.dims(operation.operands[at])?;
        let mut found = None;
        for result in 0..operation.results.len() {
            let dims = self.dims(operation.results[result])?;
            if dims.len() != had.len() {
                continue;
            }
            let kept = (0..had.len()).map(|axis| (all || had[axis] == dims[axis]).then_some(axis));
            let by = self.made(operation, result).and_then(|sharding| picked(&sharding, kept));
            found = merged([found, by]);
        }
        found
    }

    /// A factor of a product: as the product along axes that it keeps, as the other factor along
    /// those of the sums.
    fn factor(
        &mut self,
        operation: &'m Operation,
        at: usize,
        (batch, sum): (&[Vec<usize>; 2], &[Vec<usize>; 2]),
    ) -> Derivation {
        let &[lhs, rhs] = &operation.operands[..] else { return None };
        let ranks = [self.dims(lhs)?.len(), self.dims(rhs)?.len()];
        let free = |side: usize| {
            (0..ranks[side])
                .filter(move |axis| !batch[side].contains(axis) && !sum[side].contains(axis))
        };
        let before = batch[0].len() + if at == 1 { free(0).count() } else { 0 };
        let product = operation.results.first().copied().and_then(|value| self.wanted(value));
        let kept = (0..ranks[at]).map(|axis| {
            let batch = batch[at].iter().position(|&of| of == axis);
            batch.or_else(|| free(at).position(|of| of == axis).map(|free| before + free))
        });
        let kept = product.and_then(|sharding| picked(&sharding, kept));
        let other = self.known.get(&[rhs, lhs][at]).cloned();
        let summed = (0..ranks[at]).map(|axis| {
            let place = sum[at].iter().position(|&of| of == axis)?;
            sum[1 - at].get(place).copied()
        });
        let summed = other.and_then(|sharding| picked(&sharding, summed));
        merged([kept, summed])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shardings of the parameters, of which the first is as it says.
    fn texts(body: &str) -> Vec<String> {
        let source = format!("module {{\n  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n  {body}\n}}");
        let module = tpu_stablehlo::text::parse(&source).unwrap();
        let entry = module.entry().unwrap();
        let mut forward = Propagation::new(&module, 8);
        let stated = |attributes: &tpu_stablehlo::ir::Attributes| match attributes
            .get("sdy.sharding")
        {
            Some(Attribute::Sharding(sharding)) => Propagation::new(&module, 8).stated(sharding),
            _ => None,
        };
        let given = entry.arguments.iter().map(stated).collect();
        let results: Vec<Derivation> =
            entry.results.iter().map(|(_, attributes)| stated(attributes)).collect();
        let found = parameters(&mut forward, entry, given, &results, 0);
        let text =
            |known: Derivation| known.map_or_else(|| "whole".to_owned(), |known| known.text());
        found.into_iter().map(text).collect()
    }

    #[test]
    fn a_parameter_is_split_as_the_code_per_device_takes_it() {
        let found = texts(
            r#"func.func @main(%a: tensor<8x6xf32>, %b: tensor<6x8xf32>) -> (tensor<2x6xf32>) {
    %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %s = stablehlo.add %a, %t : tensor<8x6xf32>
    %0 = sdy.manual_computation(%s) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x", "y"} (%c: tensor<2x6xf32>) {
      sdy.return %c : tensor<2x6xf32>
    } : (tensor<8x6xf32>) -> tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }"#,
        );
        assert_eq!(
            found,
            [
                "{devices=[4,1,2]<=[8] last_tile_dim_replicate}",
                "{devices=[1,4,2]<=[8] last_tile_dim_replicate}"
            ]
        );
    }

    #[test]
    fn a_parameter_follows_its_neighbour_and_the_result() {
        let found = texts(
            r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x6xf32>, %c: tensor<8x4xf32>, %d: tensor<4xf32>) -> (tensor<8x6xf32>, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, tensor<6x4xf32>) {
    %0 = func.call @inner(%a, %b) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %1 = stablehlo.negate %d : tensor<4xf32>
    %2 = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    return %0, %1, %2 : tensor<8x6xf32>, tensor<4xf32>, tensor<6x4xf32>
  }
  func.func private @inner(%a: tensor<8x6xf32>, %b: tensor<8x6xf32>) -> tensor<8x6xf32> {
    %0 = stablehlo.add %a, %b : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }"#,
        );
        let rows = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
        assert_eq!(
            found,
            [rows, rows, rows, "{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"]
        );
    }

    #[test]
    fn what_nothing_splits_is_whole() {
        let found = texts(
            r"func.func @main(%a: tensor<8x6xf32>) -> (tensor<8x6xf32>) {
    %0 = stablehlo.negate %a : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }",
        );
        assert_eq!(found, ["whole"]);
    }
}
