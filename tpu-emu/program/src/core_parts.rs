//! Arrays in memories that each core of a device has for itself, and that kernels hand to one
//! another: where a kernel runs on several cores, such an array has a part for each of them.
//!
//! What other operations read, or what goes through control flow, is one array for all cores. Whose
//! that is, nobody has said: it is made of parts that are the same, and fails where they are not.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::core_arrays::CoreArrays;
use tpu_ops::{Cost, Cx, Kernel};
use tpu_stablehlo::ir::Locations;

/// Makes the parts.
///
/// # Errors
/// `Unimplemented` where several cores go through blocks of such an array.
pub fn give_each_core_its_part(graph: &mut Graph, locations: &Locations) -> Result<()> {
    let mut main = mem::take(&mut graph.main);
    let done = in_block(graph, &mut main, locations);
    graph.main = main;
    done
}

fn in_block(graph: &mut Graph, block: &mut Subgraph, locations: &Locations) -> Result<()> {
    for node in &mut block.nodes {
        node.work.blocks_mut().try_for_each(|inside| in_block(graph, inside, locations))?;
    }
    let cores = block.nodes.iter().filter_map(|node| Some(kernel(node)?.1.cores)).max();
    let Some(cores) = cores.filter(|&cores| cores > 1) else { return Ok(()) };
    let parted = parted(block);
    let mut in_parts: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for value in &parted {
        let shape = parts(&graph.value(*value).shape, cores);
        in_parts.insert(*value, graph.add(shape));
    }
    let read = read_as_one(block, &parted);
    let mut nodes = Vec::with_capacity(block.nodes.len());
    for mut node in mem::take(&mut block.nodes) {
        let Some((of, _)) = kernel(&node) else {
            nodes.push(node);
            continue;
        };
        let operands: Vec<bool> =
            (0..node.operands.len()).map(|at| is_of_core(&node, at, &parted)).collect();
        let results: Vec<bool> = node.results.iter().map(|of| parted.contains(of)).collect();
        if !operands.iter().chain(&results).any(|&has| has) {
            nodes.push(node);
            continue;
        }
        for (at, _) in operands.iter().enumerate().filter(|(_, has)| **has) {
            let of = node.shapes[at].clone();
            let one = node.operands[at];
            let each = match in_parts.get(&one) {
                Some(&each) => each,
                // What is one array before has the same in each part.
                None => {
                    let strides = [0].into_iter().chain(of.strides().into_iter().map(stride));
                    let each = graph.add(parts(&of, cores));
                    nodes.push(Node {
                        work: NodeKind::Access(Access { offset: 0, strides: strides.collect() }),
                        operands: vec![one],
                        shapes: vec![of.clone()],
                        results: vec![each],
                        name: Arc::clone(&node.name),
                        location: node.location,
                        effect: false,
                    });
                    each
                }
            };
            (node.operands[at], node.shapes[at]) = (each, parts(&of, cores));
        }
        let mut ones = Vec::new();
        for value in &mut node.results {
            let Some(&each) = in_parts.get(value) else { continue };
            let one = mem::replace(value, each);
            if read.contains(&one) {
                ones.push((one, each));
            }
        }
        let line = locations.line(node.location);
        let place: Arc<str> = line.map_or_else(String::new, |line| format!("{line}: ")).into();
        let made = of.with_core_parts(CoreArrays { cores, operands, results });
        let made = made.ok_or_else(|| {
            let what = "has blocks of an array in memory that each core has for itself";
            Error::Unimplemented(format!("{place}a kernel on {cores} cores {what}"))
        })?;
        node.work = NodeKind::Kernel(made);
        let (name, location) = (Arc::clone(&node.name), node.location);
        nodes.push(node);
        nodes.extend(ones.into_iter().map(|(one, each)| Node {
            work: NodeKind::Kernel(Arc::new(SameOnCores { cores, place: Arc::clone(&place) })),
            operands: vec![each],
            shapes: vec![graph.value(each).shape.clone()],
            results: vec![one],
            name: Arc::clone(&name),
            location,
            effect: false,
        }));
    }
    block.nodes = nodes;
    Ok(())
}

/// One array of parts that are the same for all cores.
#[derive(Debug)]
struct SameOnCores {
    cores: usize,
    /// Where the kernel is called that leaves the parts.
    place: Arc<str>,
}

impl Kernel for SameOnCores {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let ([parts], [one]) = (operands, results) else { return Ok(()) };
        let (first, others) = parts.split_at(one.len());
        if !first.is_empty() && others.chunks(first.len()).any(|other| other != first) {
            let Self { cores, place } = self;
            return Err(Error::Unimplemented(format!(
                "{place}a kernel leaves an array in memory that each of {cores} cores has for \
                 itself, and that is read as one: what they have is not the same, and which core's \
                 is meant is not known"
            )));
        }
        one.copy_from_slice(first);
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

/// The kernel of cores that a node is.
fn kernel(node: &Node) -> Option<(Arc<dyn Kernel>, CoreArrays)> {
    let NodeKind::Kernel(kernel) = &node.work else { return None };
    Some((Arc::clone(kernel), kernel.core_arrays()?))
}

/// The arrays of a block that have parts: what kernels on several cores leave in memories of each,
/// and what others leave there for them.
fn parted(block: &Subgraph) -> BTreeSet<ValueId> {
    let kernels: Vec<(&Node, Arc<dyn Kernel>, CoreArrays)> = block
        .nodes
        .iter()
        .filter_map(|node| kernel(node).map(|(of, arrays)| (node, of, arrays)))
        .collect();
    let marked = |values: &[ValueId], marks: &[bool]| -> Vec<ValueId> {
        values.iter().zip(marks).filter_map(|(&value, &is)| is.then_some(value)).collect()
    };
    let left = kernels.iter().flat_map(|(node, _, of)| marked(&node.results, &of.results));
    let left: BTreeSet<ValueId> = left.collect();
    let mut parted = BTreeSet::new();
    for (node, _, of) in kernels.iter().filter(|(_, _, of)| of.cores > 1) {
        parted.extend(marked(&node.results, &of.results));
        let taken = marked(&node.operands, &of.operands);
        parted.extend(taken.into_iter().filter(|value| left.contains(value)));
    }
    loop {
        let before = parted.len();
        for (node, of, _) in &kernels {
            for (result, value) in node.results.iter().enumerate() {
                let Some(from) = of.starts_from(result).map(|at| node.operands[at]) else {
                    continue;
                };
                if parted.contains(value) && left.contains(&from) {
                    parted.insert(from);
                }
                if parted.contains(&from) && left.contains(value) {
                    parted.insert(*value);
                }
            }
        }
        if parted.len() == before {
            return parted;
        }
    }
}

/// Whether an operand of a kernel is an array with a part for each core.
fn is_of_core(node: &Node, at: usize, parted: &BTreeSet<ValueId>) -> bool {
    let Some((of, arrays)) = kernel(node) else { return false };
    match (0..node.results.len()).find(|&result| of.starts_from(result) == Some(at)) {
        Some(result) => parted.contains(&node.results[result]),
        None => arrays.operands[at] && parted.contains(&node.operands[at]),
    }
}

/// The arrays with parts that something reads as one.
fn read_as_one(block: &Subgraph, parted: &BTreeSet<ValueId>) -> BTreeSet<ValueId> {
    let mut read: BTreeSet<ValueId> = block.results.iter().copied().collect();
    for node in &block.nodes {
        let operands = node.operands.iter().enumerate();
        read.extend(operands.filter(|(at, _)| !is_of_core(node, *at, parted)).map(|(_, of)| *of));
        node.each_inner_read(&mut |value| {
            read.insert(value);
        });
    }
    read
}

/// The shape of an array with a part for each core.
fn parts(of: &Shape, cores: usize) -> Shape {
    let dims: Vec<usize> = [cores].into_iter().chain(of.dims.iter().copied()).collect();
    Shape::new(of.dtype, dims)
}

fn stride(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::LocationId;

    /// A kernel on so many cores with one operand and one result in memory of a core, which share it.
    #[derive(Debug)]
    struct OfCores(usize);

    impl Kernel for OfCores {
        fn run(&self, _: &mut Cx<'_>, _: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
            Ok(())
        }

        fn starts_from(&self, _: usize) -> Option<usize> {
            Some(0)
        }

        fn cost(&self) -> Cost {
            Cost::default()
        }

        fn core_arrays(&self) -> Option<CoreArrays> {
            Some(CoreArrays { cores: self.0, operands: vec![true], results: vec![true] })
        }

        fn with_core_parts(&self, _: CoreArrays) -> Option<Arc<dyn Kernel>> {
            Some(Arc::new(Self(self.0)))
        }
    }

    /// A program of kernels on these numbers of cores, one after the other.
    fn program(cores: &[usize]) -> Graph {
        let mut graph = Graph::default();
        let shape = Shape::new(DType::S32, vec![3]);
        let mut last = graph.add(shape.clone());
        graph.main.parameters.push(last);
        for &cores in cores {
            let next = graph.add(shape.clone());
            graph.main.nodes.push(Node {
                work: NodeKind::Kernel(Arc::new(OfCores(cores))),
                operands: vec![last],
                shapes: vec![shape.clone()],
                results: vec![next],
                name: "kernel".into(),
                location: LocationId::UNKNOWN,
                effect: false,
            });
            last = next;
        }
        graph.main.results.push(last);
        graph
    }

    fn dims(graph: &Graph, values: &[ValueId]) -> Vec<usize> {
        graph.value(values[0]).shape.dims.to_vec()
    }

    #[test]
    fn each_core_has_a_part_until_something_reads_the_array_as_one() {
        let mut graph = program(&[1, 2]);
        give_each_core_its_part(&mut graph, &Locations::default()).unwrap();
        let all = &graph.main.nodes;
        assert_eq!(all.len(), 4);
        // The parameter in parts, the kernels, one array of their result.
        assert!(matches!(all[0].work, NodeKind::Access(_)));
        assert_eq!(all[0].operands, graph.main.parameters);
        for node in &all[..3] {
            assert_eq!(dims(&graph, &node.results), [2, 3]);
        }
        assert_eq!(dims(&graph, &all[3].results), [3]);
        assert_eq!(all[3].results, graph.main.results);
    }

    #[test]
    fn arrays_of_one_core_stay_as_they_are() {
        let mut graph = program(&[1, 1]);
        give_each_core_its_part(&mut graph, &Locations::default()).unwrap();
        assert_eq!(graph.main.nodes.len(), 2);
        assert_eq!(dims(&graph, &graph.main.results), [3]);
    }

    #[test]
    fn parts_that_differ_are_not_one_array() {
        let kernel = SameOnCores { cores: 2, place: "train.py:3:1: ".into() };
        let mut one = [0; 3];
        let run = |parts: &[u8], one: &mut [u8]| {
            kernel.run(&mut Cx::alone(&mut [], &mut 0), &[parts], &mut [one])
        };
        run(&[1, 2, 3, 1, 2, 3], &mut one).unwrap();
        assert_eq!(one, [1, 2, 3]);
        let error = run(&[1, 2, 3, 1, 2, 4], &mut one).unwrap_err().to_string();
        assert!(error.contains("train.py:3:1: a kernel leaves an array"), "{error}");
        run(&[], &mut []).unwrap();
    }
}
