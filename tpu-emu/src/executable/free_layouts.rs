//! How results lie that are laid as what they are made of, and which parameter that is.
//!
//! Elements are stored densely whatever a layout says, so this decides only what clients are
//! told. It follows the program once, from the parameters on.
use std::collections::HashMap;
use tpu_ops::{LayoutRule, Operator, Relayout, Structural, callee};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Block, Function, Operation, Value};

/// Calls inside of calls that are followed.
const DEPTH: usize = 64;
/// Operations that are looked at; what is made by later ones lies by default.
const OPERATIONS: usize = 1 << 20;

/// Axes, the fastest changing first; `None` for the default of the shape.
pub(super) type DimensionOrder = Option<Vec<usize>>;

/// An order of axes, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FollowedOrder {
    /// Axes, the fastest changing first.
    pub(super) order: Vec<usize>,
    /// The parameter of the entry that it was followed from; `None` where the program states it.
    pub(super) parameter: Option<usize>,
    /// Whether the value is that parameter as it came.
    pub(super) untouched: bool,
}

/// The orders of the results of `entry`, whose parameters lie as given.
pub(super) fn followed_orders(
    module: &Module,
    entry: &Function,
    parameters: Vec<DimensionOrder>,
) -> Vec<Option<FollowedOrder>> {
    followed_and_turned(module, entry, parameters).0
}

/// An operand of an operation on elements that lies in another order than the first one: which
/// value of which function, and how it lies.
pub(super) type Turned<'m> = (&'m Function, &'m Operation, Value, Vec<usize>);

/// The orders of the results of `entry`, and the operands that meet others in another order.
pub(super) fn orders_and_turned<'m>(
    module: &'m Module,
    entry: &'m Function,
    parameters: Vec<DimensionOrder>,
) -> (Vec<DimensionOrder>, Vec<Turned<'m>>) {
    let (followed, turned) = followed_and_turned(module, entry, parameters);
    (followed.into_iter().map(|of| of.map(|of| of.order)).collect(), turned)
}

fn followed_and_turned<'m>(
    module: &'m Module,
    entry: &'m Function,
    parameters: Vec<DimensionOrder>,
) -> (Vec<Option<FollowedOrder>>, Vec<Turned<'m>>) {
    let mut walk = Walk { module, left: OPERATIONS, turned: Vec::new() };
    let from = |(index, order): (usize, DimensionOrder)| {
        order.map(|order| FollowedOrder { order, parameter: Some(index), untouched: true })
    };
    let orders = walk.function(entry, parameters.into_iter().enumerate().map(from).collect(), 0);
    (orders, walk.turned)
}

#[derive(Debug)]
struct Walk<'m> {
    module: &'m Module,
    left: usize,
    turned: Vec<Turned<'m>>,
}

impl<'m> Walk<'m> {
    fn function(
        &mut self,
        function: &'m Function,
        parameters: Vec<Option<FollowedOrder>>,
        depth: usize,
    ) -> Vec<Option<FollowedOrder>> {
        let [block] = &function.body.blocks[..] else { return Vec::new() };
        self.block(function, block, parameters, &mut HashMap::new(), depth)
    }

    fn block(
        &mut self,
        function: &'m Function,
        block: &'m Block,
        parameters: Vec<Option<FollowedOrder>>,
        known: &mut HashMap<Value, FollowedOrder>,
        depth: usize,
    ) -> Vec<Option<FollowedOrder>> {
        let Some((last, operations)) = block.operations.split_last() else { return Vec::new() };
        for (&value, order) in block.arguments.iter().zip(parameters) {
            order.into_iter().for_each(|order| drop(known.insert(value, order)));
        }
        for operation in operations {
            if self.left == 0 {
                return Vec::new();
            }
            self.left -= 1;
            let made = self.operation(function, operation, known, depth);
            for (&result, order) in operation.results.iter().zip(made) {
                let rank = dims(function, result).map_or(0, <[i64]>::len);
                if let Some(order) = order.filter(|of| is_order(&of.order, rank)) {
                    known.insert(result, order);
                }
            }
        }
        last.operands.iter().map(|value| known.get(value).cloned()).collect()
    }

    fn operation(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        known: &mut HashMap<Value, FollowedOrder>,
        depth: usize,
    ) -> Vec<Option<FollowedOrder>> {
        let operands: Vec<Option<FollowedOrder>> =
            operation.operands.iter().map(|value| known.get(value).cloned()).collect();
        let touched = |of: FollowedOrder| FollowedOrder { untouched: false, ..of };
        let like_operand = |operands: &[Option<FollowedOrder>]| {
            let same = |&result: &Value| {
                let wanted = dims(function, result)?;
                let mut given = operation.operands.iter().zip(operands);
                given.find_map(|(&value, order)| {
                    order.clone().filter(|_| dims(function, value) == Some(wanted)).map(touched)
                })
            };
            operation.results.iter().map(same).collect()
        };
        match Operator::of(operation) {
            Operator::Structural(Structural::Call | Structural::Composite) => {
                let callee = callee(operation).and_then(|name| self.module.function(name));
                match callee.filter(|_| depth < DEPTH) {
                    Some(callee) => self.function(callee, operands, depth + 1),
                    None => Vec::new(),
                }
            }
            Operator::Structural(Structural::ManualComputation) => {
                match operation.regions.first().map(|body| &body.blocks[..]) {
                    Some([block]) => self.block(function, block, operands, known, depth),
                    _ => Vec::new(),
                }
            }
            Operator::Structural(Structural::While) => {
                operands.into_iter().map(|of| of.map(touched)).collect()
            }
            Operator::Row(entry) => match entry.layout {
                LayoutRule::LikeOperand => {
                    if entry.relayout == Relayout::Nothing && operation.regions.is_empty() {
                        self.note_turned(function, operation, &operands);
                    }
                    like_operand(&operands)
                }
                LayoutRule::LikeOperands => operands,
                LayoutRule::Stated => stated(operation).unwrap_or(operands),
                LayoutRule::Permuted => {
                    vec![operands.into_iter().next().flatten().and_then(|of| {
                        let permutation = axes(&operation.attributes.integers("permutation")?);
                        let place = |axis| permutation.iter().position(|from| from == axis);
                        let order = of.order.iter().map(place).collect::<Option<_>>()?;
                        Some(FollowedOrder { order, untouched: false, ..of })
                    })]
                }
                LayoutRule::Default => Vec::new(),
            },
            Operator::Structural(_) | Operator::Registered | Operator::Unknown => {
                like_operand(&operands)
            }
        }
    }
}

impl<'m> Walk<'m> {
    /// Notes operands of an operation on elements whose fastest axes differ.
    fn note_turned(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        operands: &[Option<FollowedOrder>],
    ) {
        let Some(wanted) = operation.results.first().and_then(|&of| dims(function, of)) else {
            return;
        };
        let fastest = |order: &[usize]| order.iter().copied().find(|&axis| wanted[axis] != 1);
        let mut first = None;
        for (&value, order) in operation.operands.iter().zip(operands) {
            let here = dims(function, value) == Some(wanted);
            let Some(FollowedOrder { order, .. }) = order.as_ref().filter(|_| here) else {
                continue;
            };
            if *first.get_or_insert_with(|| fastest(order)) != fastest(order) {
                self.turned.push((function, operation, value, order.clone()));
            }
        }
    }
}

/// The layouts that a constraint states for its results.
fn stated(operation: &Operation) -> Option<Vec<Option<FollowedOrder>>> {
    let Some(Attribute::Array(layouts)) = operation.attributes.get("result_layouts") else {
        return None;
    };
    let stated =
        |order: Vec<i64>| FollowedOrder { order: axes(&order), parameter: None, untouched: false };
    Some(layouts.iter().map(|layout| layout.integers().map(stated)).collect())
}

/// Numbers of axes; one that is none stands for the largest, which no array has.
fn axes(numbers: &[i64]) -> Vec<usize> {
    numbers.iter().map(|&axis| usize::try_from(axis).unwrap_or(usize::MAX)).collect()
}

fn dims(function: &Function, value: Value) -> Option<&[i64]> {
    function.type_of(value).tensor().map(|of| &of.dims[..])
}

/// Whether every axis of an array of that rank is there once.
fn is_order(order: &[usize], rank: usize) -> bool {
    order.len() == rank && (0..rank).all(|axis| order.contains(&axis))
}

#[cfg(test)]
mod tests {
    use super::orders_and_turned;
    use tpu_stablehlo::text::parse;

    /// The order of the one result of a program over an array of three axes.
    fn order(text: &str) -> Option<Vec<usize>> {
        let module = parse(text).unwrap();
        let entry = module.entry().unwrap();
        let rows = |_| Some(vec![2, 1, 0]);
        let parameters = (0..entry.arguments.len()).map(rows).collect();
        orders_and_turned(&module, entry, parameters).0.pop().flatten()
    }

    fn of(body: &str, result: &str) -> Option<Vec<usize>> {
        order(&format!(
            "func.func @main(%a: tensor<2x3x4xf32>) -> {result} {{\n{body}\n  return %r : {result}\n}}"
        ))
    }

    const TURN: &str = "%t = stablehlo.transpose %a, dims = [2, 0, 1] \
        : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>";

    #[test]
    fn what_is_turned_lies_as_it_did() {
        let sine = format!("{TURN}\n%r = stablehlo.sine %t : tensor<4x2x3xf32>");

        // The axes of 4, 3 and 2 elements, as in the parameter.
        assert_eq!(of(&sine, "tensor<4x2x3xf32>"), Some(vec![0, 2, 1]));
    }

    #[test]
    fn a_constraint_states_the_order() {
        let text = format!(
            "{TURN}\n%r = stablehlo.custom_call @LayoutConstraint(%t) {{\
             operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>], \
             result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]}} \
             : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>"
        );

        assert_eq!(of(&text, "tensor<4x2x3xf32>"), Some(vec![1, 2, 0]));
    }

    #[test]
    fn functions_are_followed_and_a_product_is_made_anew() {
        let text = "func.func private @turned(%b: tensor<4x4xf32>) -> tensor<4x4xf32> {\n\
            %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>\n\
            return %t : tensor<4x4xf32>\n}\n\
            func.func public @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {\n\
            %r = func.call @turned(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>\n\
            %p = stablehlo.dot_general %r, %a, contracting_dims = [1] x [0] \
            : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n\
            return %r, %p : tensor<4x4xf32>, tensor<4x4xf32>\n}";
        let module = parse(text).unwrap();

        let (found, _) =
            orders_and_turned(&module, module.entry().unwrap(), vec![Some(vec![1, 0])]);

        assert_eq!(found, [Some(vec![0, 1]), None]);
    }

    #[test]
    fn a_permutation_with_axes_that_are_not_there_says_nothing() {
        let text = "%r = stablehlo.custom_call @LayoutConstraint(%a) {\
             result_layouts = [dense<[7, 7, 0]> : tensor<3xindex>]} \
             : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>";

        assert_eq!(of(text, "tensor<2x3x4xf32>"), None);
    }
}
