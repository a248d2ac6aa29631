//! An operation that its block has already, with the same operands, is not there twice.
//!
//! JAX writes what a program computes once for each place that asks for it: the mean of `jnp.var`
//! beside `jnp.mean`, the tail of an error function in each branch of a choice. XLA merges such
//! operations as well, and as there a barrier keeps those before it apart from those behind it:
//! `jax.checkpoint` asks with it for values that are computed again.
//!
//! Values of little work, such as sums, masks and what is spread or turned, are made where they are
//! read and stay, or each of their readers would find them stored; so are large arrays that are no
//! products. They are only told to be the same; where one loop makes them for several readers it has
//! them once (`fuse/loop_builder`).
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::Loader;
use super::scope::{Binding, Scope};
use crate::tuning::{MAX_COMPARED_BYTES, MAX_MERGED_BYTES, MIN_MERGED_STEPS};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use tpu_base::error::Result;
use tpu_ops::{DeviceDependence, Entry};
use tpu_stablehlo::ir::{Attribute, Attributes, DYNAMIC, Function, Operation, Region, Type, Value};

/// The operations that were emitted.
#[derive(Debug)]
pub(super) struct CommonSubexpressions<'m> {
    /// Whether they are looked for.
    merges: bool,
    /// By a hash of what they compute; of those with the same one the last.
    emitted: FxHashMap<u64, Emitted<'m>>,
    /// The operands of all, and behind them those of the one that is looked for.
    operands: Vec<ValueId>,
    /// What is known of values of little work, by their numbers.
    little: Vec<Option<LittleWork>>,
    /// Barriers that were passed.
    barriers: usize,
}

/// A value of little work.
#[derive(Debug, Clone, Copy)]
struct LittleWork {
    /// The first value that is the same.
    first: ValueId,
    /// Operations on elements that make it, one behind the other.
    steps: usize,
}

/// An operation that was emitted.
#[derive(Debug)]
struct Emitted<'m> {
    of: Expression<'m>,
    place: MadeAt,
}

/// Where the results of an operation are made.
#[derive(Debug, Clone, Copy)]
struct MadeAt {
    /// The number of the node in its block.
    number: usize,
    /// The first of the results.
    result: ValueId,
}

/// What an operation computes.
#[derive(Debug, Clone, Copy)]
struct Expression<'m> {
    operation: &'m Operation,
    function: &'m Function,
    /// Where its operands stand; those of equal values are equal.
    operands: usize,
    barriers: usize,
}

/// An operation that may be there already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'m> {
    of: Expression<'m>,
    hash: u64,
    /// The first one that computes the same.
    first: Option<MadeAt>,
}

impl<'m> CommonSubexpressions<'m> {
    /// None yet.
    pub(super) fn of(merges: bool) -> Self {
        let (emitted, operands, little) = (FxHashMap::default(), Vec::new(), Vec::new());
        Self { merges, emitted, operands, little, barriers: 0 }
    }

    /// None yet, of a program inside of this one.
    pub(super) fn emptied(&self) -> Self {
        Self::of(self.merges)
    }

    /// An operation, if it is nothing but its results.
    pub(super) fn candidate(
        &mut self,
        scope: &Scope<'m>,
        (operation, entry): (&'m Operation, &Entry),
        values: &[ValueId],
    ) -> Option<Candidate<'m>> {
        let is_alike = entry.devices == DeviceDependence::Alike;
        if !self.merges || !is_alike || values.len() != operation.operands.len() {
            return None;
        }
        let (function, barriers) = (scope.function(), self.barriers);
        let mut hasher = FxHasher::default();
        hasher.write(operation.name.as_bytes());
        hasher.write_usize(barriers);
        for (name, value) in &operation.attributes.0 {
            if !is_compared(value) || matches!(&**name, "has_side_effect" | "call_target_name") {
                return None;
            }
            hash(value, &mut hasher);
        }
        let mut all = operation.operands.iter().chain(&operation.results);
        if !all.all(|&value| is_fixed(function.type_of(value))) {
            return None;
        }
        if let Type::Tensor(of) = function.type_of(*operation.results.first()?) {
            of.element.hash(&mut hasher);
            of.dims.iter().for_each(|&dim| hasher.write_i64(dim));
        }
        let operands = self.operands.len();
        for value in values {
            let first = self.little(*value).map_or(*value, |of| of.first);
            hasher.write_u32(first.0);
            self.operands.push(first);
        }
        let (of, hash) = (Expression { operation, function, operands, barriers }, hasher.finish());
        let first = self.emitted.get(&hash).filter(|emitted| self.is_same(&emitted.of, &of));
        Some(Candidate { of, hash, first: first.map(|emitted| emitted.place) })
    }

    fn little(&self, value: ValueId) -> Option<LittleWork> {
        self.little.get(value.index()).copied().flatten()
    }

    /// Whether an operation computes the same as another one, whose operands stand last.
    fn is_same(&self, emitted: &Expression<'_>, of: &Expression<'_>) -> bool {
        let count = of.operation.operands.len();
        let operands = |of: &Expression<'_>| self.operands.get(of.operands..of.operands + count);
        emitted.barriers == of.barriers
            && emitted.operation.operands.len() == count
            && operands(emitted) == operands(of)
            && same(emitted, of)
    }

    /// The results that serve for those of a candidate in a block.
    pub(super) fn known<'b>(
        &mut self,
        of: &Candidate<'m>,
        block: &'b Subgraph,
    ) -> Option<&'b [ValueId]> {
        // Values of little work are made again, and those of other blocks may not be there.
        let first = of.first.filter(|first| self.little(first.result).is_none())?;
        let here = |node: &&Node| node.results.first() == Some(&first.result);
        let node = block.nodes.get(first.number).filter(here)?;
        self.operands.truncate(of.of.operands);
        Some(&node.results)
    }

    /// Notes that the last node of a block is a candidate, with results of so many bytes.
    pub(super) fn note(
        &mut self,
        of: Candidate<'m>,
        (results, bytes): (&[ValueId], usize),
        block: &Subgraph,
    ) {
        let last = block.nodes.last().filter(|node| node.results == results);
        let Some((node, &result)) = last.zip(results.first()) else { return };
        if node.effect || node.work.is_own() {
            return;
        }
        let operands = self.operands.get(of.of.operands..).unwrap_or_default();
        let behind = operands.iter().filter_map(|&of| Some(self.little(of)?.steps)).max();
        let behind = behind.unwrap_or(0);
        let steps = match &node.work {
            of if bytes > MAX_MERGED_BYTES && !of.is_product() => Some(behind),
            NodeKind::Iota(_)
            | NodeKind::Splat(_)
            | NodeKind::Constant(_)
            | NodeKind::Access(_) => Some(behind),
            NodeKind::Elementwise(op) if !op.transcendental => Some(behind + 1),
            _ => None,
        };
        if let Some(steps) = steps.filter(|&steps| steps < MIN_MERGED_STEPS) {
            let first = of.first.map_or(result, |first| first.result);
            self.little.resize(self.little.len().max(result.index() + 1), None);
            self.little[result.index()] = Some(LittleWork { first, steps });
            if of.first.is_some() {
                self.operands.truncate(of.of.operands);
                return;
            }
        }
        let place = MadeAt { number: block.nodes.len() - 1, result };
        self.emitted.insert(of.hash, Emitted { of: of.of, place });
    }

    /// Notes a barrier.
    pub(super) fn pass_barrier(&mut self) {
        self.barriers += 1;
    }
}

impl<'m> Loader<'m> {
    /// Binds the results of a candidate to those of an operation that is there already, if one is.
    pub(super) fn bind_common(
        &mut self,
        scope: &mut Scope<'m>,
        candidate: &Candidate<'m>,
        block: &Subgraph,
    ) -> Result<bool> {
        let Some(known) = self.common.known(candidate, block) else { return Ok(false) };
        for (&result, &value) in candidate.of.operation.results.iter().zip(known) {
            let shape = self.graph.value(value).shape.clone();
            scope.bind(result, Binding::Array(value, shape))?;
        }
        Ok(true)
    }
}

/// Whether a type says what an array is.
fn is_fixed(of: &Type) -> bool {
    of.tensor().is_some_and(|of| !of.dims.contains(&DYNAMIC))
}

/// Whether attributes that are equal are the same, and cost little to compare.
fn are_compared(of: &Attributes) -> bool {
    of.0.iter().all(|(_, value)| is_compared(value))
}

fn is_compared(of: &Attribute) -> bool {
    match of {
        Attribute::Elements(elements) => elements.data.len() <= MAX_COMPARED_BYTES,
        // The other zero is equal to it.
        Attribute::Float(value, _) => *value != 0.0,
        Attribute::Array(items) => items.iter().all(is_compared),
        Attribute::Dictionary(items) => are_compared(items),
        _ => true,
    }
}

fn hash(of: &Attribute, into: &mut FxHasher) {
    match of {
        Attribute::Integer(value, _) => into.write_i128(*value),
        Attribute::Integers(values) => values.iter().for_each(|&value| into.write_i64(value)),
        Attribute::Elements(elements) => into.write(&elements.data),
        Attribute::Word(word) => into.write(word.as_bytes()),
        // Equal ones may differ in what is not hashed.
        _ => {}
    }
}

/// Whether two operations compute the same.
fn same(a: &Expression<'_>, b: &Expression<'_>) -> bool {
    alike((a.operation, a.function), (b.operation, b.function))
        && types(a.function, &a.operation.operands, b.function, &b.operation.operands)
        && a.operation.regions.len() == b.operation.regions.len()
        && a.operation
            .regions
            .iter()
            .zip(&b.operation.regions)
            .all(|(one, other)| same_code((one, a.function), (other, b.function)))
}

/// Whether two operations do the same with their operands, but for the code in them.
fn alike((a, of_a): (&Operation, &Function), (b, of_b): (&Operation, &Function)) -> bool {
    let (own, other) = (&a.attributes, &b.attributes);
    a.name == b.name && own == other && types(of_a, &a.results, of_b, &b.results)
}

fn types(of_a: &Function, a: &[Value], of_b: &Function, b: &[Value]) -> bool {
    let same = |(&a, &b): (&Value, &Value)| of_a.type_of(a) == of_b.type_of(b);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Whether the code in two operations computes the same of its parameters, and of nothing else.
fn same_code((a, of_a): (&Region, &Function), (b, of_b): (&Region, &Function)) -> bool {
    let ([a], [b]) = (&a.blocks[..], &b.blocks[..]) else { return false };
    if !types(of_a, &a.arguments, of_b, &b.arguments) || a.operations.len() != b.operations.len() {
        return false;
    }
    let arguments = a.arguments.iter().copied().zip(b.arguments.iter().copied());
    let mut stand_for: FxHashMap<Value, Value> = arguments.collect();
    a.operations.iter().zip(&b.operations).all(|(a, b)| {
        let mut operands = a.operands.iter().zip(&b.operands);
        let same = a.operands.len() == b.operands.len()
            && operands.all(|(a, b)| stand_for.get(a) == Some(b))
            && a.regions.is_empty()
            && b.regions.is_empty()
            && are_compared(&a.attributes)
            && alike((a, of_a), (b, of_b));
        stand_for.extend(a.results.iter().copied().zip(b.results.iter().copied()));
        same
    })
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::import::load;
    use crate::sharding::groups::Devices;
    use crate::tuning::{MAX_MERGED_BYTES, MIN_MERGED_STEPS};
    use std::collections::BTreeMap;
    use tpu_base::error::Error;
    use tpu_ops::Numerics;
    use tpu_ops::custom_call::Registry;

    /// How often an operation is there in a program of these lines over `%x` and `%y`, that gives
    /// `%r`.
    fn count(of: &str, lines: &str) -> usize {
        let text = format!(
            "func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  {}
  return %r : tensor<4xf32>
}}",
            lines.replace(" T", " tensor<4xf32>")
        );
        let module = tpu_stablehlo::text::parse(&text).unwrap();
        let registry = Registry::default();
        let devices = (Devices::ONE, &BTreeMap::new());
        let no_bodies = |_, _, _| Err(Error::bad("no bodies"));
        let passes = Passes { constant_folding: false, ..Passes::ALL };
        let loaded = load(&module, Numerics::Ieee, &registry, no_bodies, devices, passes);
        let (mut graph, name) = (loaded.unwrap().graph, format!("stablehlo.{of}"));
        let mut count = 0;
        graph.each_block(&mut |_, block| {
            count += block.nodes.iter().filter(|node| *node.name == name).count();
        });
        count
    }

    #[test]
    fn the_same_of_the_same_is_there_once() {
        let twice = "%a = stablehlo.exponential %x : T
  %b = stablehlo.exponential %x : T
  %r = stablehlo.add %a, %b : T";
        assert_eq!(count("exponential", twice), 1);
        let others = "%a = stablehlo.power %x, %y : T
  %b = stablehlo.power %y, %x : T
  %r = stablehlo.add %a, %b : T";
        assert_eq!(count("power", others), 2);
    }

    #[test]
    fn what_is_little_work_is_told_to_be_the_same_and_stays() {
        let chain = "%a = stablehlo.exponential %x : T
  %b = stablehlo.negate %a : T
  %c = stablehlo.exponential %x : T
  %d = stablehlo.negate %c : T
  %e = stablehlo.cosine %b : T
  %f = stablehlo.cosine %d : T
  %r = stablehlo.add %e, %f : T";
        assert_eq!(["exponential", "negate", "cosine"].map(|of| count(of, chain)), [1, 2, 1]);
        // Much of it is not little any more.
        let long = |name: &str| -> String {
            let step = |at: usize| {
                let of = if at == 0 { "%x".to_owned() } else { format!("%{name}{}", at - 1) };
                format!("%{name}{at} = stablehlo.negate {of} : T\n  ")
            };
            (0..=MIN_MERGED_STEPS).map(step).collect()
        };
        let ends = format!("%r = stablehlo.add %a{MIN_MERGED_STEPS}, %b{MIN_MERGED_STEPS} : T");
        let many = long("a") + &long("b") + &ends;
        assert_eq!(count("negate", &many), 2 * MIN_MERGED_STEPS + 1);
        let spread = |first: &str, second: &str| {
            format!(
                "%o = stablehlo.constant dense<{first}> : tensor<f32>
  %p = stablehlo.constant dense<{second}> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %c = stablehlo.power %x, %a : T
  %d = stablehlo.power %x, %b : T
  %r = stablehlo.add %c, %d : T"
            )
        };
        assert_eq!(count("power", &spread("1.0", "1.0")), 1);
        assert_eq!(count("broadcast_in_dim", &spread("1.0", "1.0")), 2);
        assert_eq!(count("power", &spread("1.0", "2.0")), 2);
        assert_eq!(count("power", &spread("0.0", "-0.0")), 2);
        let floats = spread("0.0", "-0.0")
            .replace("stablehlo.constant dense<0.0>", "chlo.constant dense<0.0>")
            .replace("stablehlo.constant dense<-0.0>", "chlo.constant dense<-0.0>");
        assert_eq!(count("power", &floats), 2);
    }

    #[test]
    fn large_arrays_are_made_again() {
        let twice = |columns: usize| {
            let all = format!("tensor<4x{columns}xf32>");
            format!(
                "%w = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> {all}
  %a = stablehlo.exponential %w : {all}
  %b = stablehlo.exponential %w : {all}
  %c = stablehlo.add %a, %b : {all}
  %d = stablehlo.slice %c [0:4, 0:1] : ({all}) -> tensor<4x1xf32>
  %r = stablehlo.reshape %d : (tensor<4x1xf32>) -> tensor<4xf32>"
            )
        };
        let columns = MAX_MERGED_BYTES / 16;
        assert_eq!(count("exponential", &twice(columns)), 1);
        assert_eq!(count("exponential", &twice(columns + 1)), 2);
    }

    #[test]
    fn attributes_and_types_count() {
        let slices = "%a = stablehlo.reverse %x, dims = [0] : T
  %b = stablehlo.cosine %a : T
  %c = stablehlo.reverse %x, dims = [] : T
  %d = stablehlo.cosine %c : T
  %r = stablehlo.add %b, %d : T";
        assert_eq!(count("cosine", slices), 2);
        let types = "%a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  %b = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>
  %c = stablehlo.convert %a : (tensor<4xbf16>) -> tensor<4xf32>
  %d = stablehlo.convert %b : (tensor<4xf16>) -> tensor<4xf32>
  %r = stablehlo.add %c, %d : T";
        assert_eq!(count("convert", types), 4);
    }

    #[test]
    fn code_inside_counts() {
        let sums = |second: &str, operands: &str| {
            let reduce = |name: &str, of: &str, operands: &str| {
                format!(
                    "%{name} = \"stablehlo.reduce\"(%x, %z) ({{
    ^bb0(%{name}0: tensor<f32>, %{name}1: tensor<f32>):
      %{name}2 = stablehlo.{of} {operands} : tensor<f32>
      stablehlo.return %{name}2 : tensor<f32>
    }}) {{dimensions = array<i64: 0>}} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"
                )
            };
            format!(
                "{}\n  {}\n  %s = stablehlo.add %a, %b : tensor<f32>
  %r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>",
                reduce("a", "subtract", "%a0, %a1"),
                reduce("b", second, operands)
            )
        };
        assert_eq!(count("reduce", &sums("subtract", "%b0, %b1")), 1);
        assert_eq!(count("reduce", &sums("subtract", "%b1, %b0")), 2);
        assert_eq!(count("reduce", &sums("add", "%b0, %b1")), 2);
    }

    #[test]
    fn what_is_drawn_or_behind_a_barrier_is_computed_again() {
        let barrier = "%a = stablehlo.exponential %x : T
  %g = stablehlo.optimization_barrier %x : T
  %b = stablehlo.exponential %g : T
  %c = stablehlo.exponential %g : T
  %d = stablehlo.add %b, %c : T
  %r = stablehlo.add %a, %d : T";
        assert_eq!(count("exponential", barrier), 2);
        let drawn = "%n = stablehlo.constant dense<4> : tensor<1xi64>
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.rng %z, %o, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %b = stablehlo.rng %z, %o, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %r = stablehlo.add %a, %b : T";
        assert_eq!(count("rng", drawn), 2);
    }

    #[test]
    fn blocks_inside_have_their_own() {
        let branches = "%p = stablehlo.constant dense<true> : tensor<i1>
  %i = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %j = stablehlo.slice %i [0:1] : (tensor<4xi1>) -> tensor<1xi1>
  %k = stablehlo.reshape %j : (tensor<1xi1>) -> tensor<i1>
  %a = \"stablehlo.if\"(%k) ({
    %b = stablehlo.exponential %x : T
    stablehlo.return %b : T
  }, {
    %c = stablehlo.exponential %x : T
    %d = stablehlo.exponential %x : T
    %e = stablehlo.add %c, %d : T
    stablehlo.return %e : T
  }) : (tensor<i1>) -> tensor<4xf32>
  %f = stablehlo.exponential %x : T
  %r = stablehlo.add %a, %f : T";
        assert_eq!(count("exponential", branches), 3);
    }
}
