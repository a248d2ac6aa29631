//! Calls that code of the client's splits: how their operands and results are split.
use super::super::Sharding;
use super::super::derived::{Derivation, merged, picked};
use super::{Propagation, divides};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::custom_call::{Linker, SplitArray, SplitCall};
use tpu_ops::name_of;
use tpu_stablehlo::ir::{Attribute, Function, Operation, Type, Value};

/// The array of a type.
pub(crate) type ArrayOf = fn(&Type) -> Result<Shape>;

/// The calls of a program that are split by their targets' partitioners.
#[derive(Debug)]
pub(crate) struct SplitCalls<'m> {
    pub(crate) linker: &'m dyn Linker,
    pub(crate) shape: ArrayOf,
    /// Each call that was met, by its address.
    pub(crate) found: HashMap<usize, SplitCall>,
    /// What went wrong first.
    pub(crate) error: Option<Error>,
}

impl SplitCalls<'_> {
    /// A call, its values split like this.
    pub(crate) fn call(
        &self,
        function: &Function,
        operation: &Operation,
        [operands, results]: [&[Derivation]; 2],
    ) -> Result<SplitCall> {
        let arrays = |values: &[Value], all: &[Derivation]| -> Result<Vec<SplitArray>> {
            let mut arrays = Vec::new();
            for (at, &value) in values.iter().enumerate() {
                let sharding = all.get(at).and_then(Option::as_ref);
                arrays.push(SplitArray {
                    shape: (self.shape)(function.type_of(value))?,
                    sharding: sharding.map_or_else(|| "{replicated}".into(), |of| of.text().into()),
                });
            }
            Ok(arrays)
        };
        let config: Arc<[u8]> = match operation.attributes.get("backend_config") {
            Some(Attribute::String(config)) => Arc::clone(config),
            _ => Arc::default(),
        };
        let operands = arrays(&operation.operands, operands)?;
        let results = arrays(&operation.results, results)?;
        Ok(SplitCall { config, operands, results })
    }
}

impl<'m> Propagation<'m> {
    /// The results of a call of a target that is not in the tables: by the rule that stands beside
    /// it, or as its partitioner says.
    pub(super) fn custom(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        known: &HashMap<Value, Sharding>,
    ) -> Vec<Derivation> {
        let devices = self.devices;
        let Some(calls) = &mut self.calls else { return Vec::new() };
        let Some(partitioner) = calls.linker.partitioner(name_of(operation)) else {
            return Vec::new();
        };
        // Code of the client's works on parts that are alike.
        let even =
            |&value: &Value| known.get(&value).filter(|of| divides(of, function, value)).cloned();
        let operands: Vec<Derivation> = operation.operands.iter().map(even).collect();
        let made = calls.call(function, operation, [&operands, &[]]).and_then(|mut call| {
            let results = match operation.attributes.get("sdy.sharding_rule") {
                Some(Attribute::Opaque(rule)) => by_rule(rule, &operands, operation.results.len()),
                _ => {
                    let texts = partitioner.infer(&call)?;
                    let ranks = call.results.iter().map(|result| result.shape.rank());
                    let parsed = texts.iter().zip(ranks);
                    let parsed = parsed.map(|(text, rank)| Sharding::parse(text, rank, devices));
                    parsed.map(|made| made.map(Some)).collect::<Result<Vec<Derivation>>>()?
                }
            };
            for (result, sharding) in call.results.iter_mut().zip(&results) {
                let sharding = sharding.as_ref().filter(|of| of.shard(&result.shape.dims).is_ok());
                sharding.into_iter().for_each(|sharding| result.sharding = sharding.text().into());
            }
            Ok((call, results))
        });
        match made {
            Ok((call, results)) => {
                calls.found.insert(std::ptr::from_ref(operation).addr(), call);
                results
            }
            Err(error) => {
                calls.error.get_or_insert(error);
                Vec::new()
            }
        }
    }
}

/// The shardings of results by a rule of Shardy's: along factors that an operand is split by.
fn by_rule(rule: &str, operands: &[Derivation], results: usize) -> Vec<Derivation> {
    let none = vec![None; results];
    let body = rule.split_once('<').map_or(rule, |(_, body)| body);
    let Some((from, rest)) = body.split_once("->") else { return none };
    let (to, rest) = rest.split_once('{').unwrap_or((rest, ""));
    let sizes = rest.split('}').next().unwrap_or_default();
    let size = |factor: &str| {
        let mut pairs = sizes.split(',').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == factor).and_then(|(_, size)| size.parse::<usize>().ok())
    };
    let (from, to) = (mappings(from), mappings(to));
    let result = |factors: &Vec<Vec<&str>>| {
        let mut found = None;
        for (mapping, sharding) in from.iter().zip(operands) {
            let Some(sharding) = sharding.as_ref().filter(|of| of.shards.len() == mapping.len())
            else {
                continue;
            };
            let axis = |wanted: &Vec<&str>| {
                let first = *wanted.first()?;
                mapping.iter().zip(&sharding.shards).position(|(had, &shards)| {
                    let whole = had == wanted || size(first).is_some_and(|of| of % shards == 0);
                    had.first() == Some(&first) && whole
                })
            };
            found = merged([found, picked(sharding, factors.iter().map(axis))]);
        }
        found
    };
    to.iter().map(result).chain(none.iter().cloned()).take(results).collect()
}

/// `([i, jk], [l])` as the factors of each dimension of each array.
fn mappings(text: &str) -> Vec<Vec<Vec<&str>>> {
    let mut all = Vec::new();
    for one in text.split('[').skip(1) {
        let inside = one.split(']').next().unwrap_or_default();
        let dimensions = inside.split(',').map(str::trim).filter(|dimension| !dimension.is_empty());
        all.push(dimensions.map(factors).collect());
    }
    all
}

/// `iz_12k` as `i`, `z_12`, `k`.
fn factors(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name = &rest[first.len_utf8()..];
        let number = name.strip_prefix('_').map_or(0, |digits| {
            1 + digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len())
        });
        let (factor, after) = rest.split_at(first.len_utf8() + number);
        all.push(factor);
        rest = after;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rule: &str, operands: &[(&str, usize)]) -> Vec<String> {
        let parse = |(text, rank): &(&str, usize)| Sharding::parse(text, *rank, 8).ok();
        let operands: Vec<Derivation> = operands.iter().map(parse).collect();
        let text = |one: Derivation| one.map_or_else(|| "none".to_owned(), |one| one.text());
        by_rule(rule, &operands, 1).into_iter().map(text).collect()
    }

    #[test]
    fn results_are_split_along_the_factors_of_operands() {
        let rule = "sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=32, j=16, k=8}, custom>";
        let rows = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
        let columns = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}";
        assert_eq!(texts(rule, &[(rows, 2), (columns, 2)]), ["{devices=[4,2]<=[8]}"]);
        assert_eq!(texts(rule, &[(rows, 2), ("none", 2)]), [rows]);
    }

    #[test]
    fn a_compound_dimension_is_split_along_its_first_factor() {
        let rule = "sdy.op_sharding_rule<([ij])->([i, j]) {i=4, j=3}>";
        let four = "{devices=[4,2]<=[8] last_tile_dim_replicate}";
        assert_eq!(texts(rule, &[(four, 1)]), ["{devices=[4,1,2]<=[8] last_tile_dim_replicate}"]);
        // Eight parts do not end where a row of three does.
        assert_eq!(texts(rule, &[("{devices=[8]<=[8]}", 1)]), ["{replicated}"]);
        assert_eq!(factors("iz_12k"), ["i", "z_12", "k"]);
    }

    #[test]
    fn what_is_no_rule_says_nothing() {
        assert_eq!(texts("nothing", &[("{replicated}", 1)]), ["none"]);
        assert_eq!(
            texts("sdy.op_sharding_rule<([])->([]) {}>", &[("{replicated}", 0)]),
            ["{replicated}"]
        );
    }
}
