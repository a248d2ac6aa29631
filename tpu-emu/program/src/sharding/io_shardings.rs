//! How the parameters and results of a program are split over its devices.
use super::Sharding;
use super::groups::Devices;
use super::propagate::Propagation;
use super::wanted;
use crate::graph::{Graph, Node, NodeKind, ValueId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_base::units::{Bytes, to_u64};
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{CONSTANT, Operator, ShardingRule, across};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Function, LocationId, Region};

/// A question of the program how a value is split over the devices, with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The `backend_config` of the custom call `InspectSharding`, which says whom to tell.
    pub whom: Arc<[u8]>,
    /// The sharding, as HLO text.
    pub sharding: Arc<str>,
}

/// A parameter or result of a program over several devices.
#[derive(Debug, Clone)]
pub struct IoSharding {
    /// The array that the program sees.
    pub whole: Shape,
    /// Which part of it each device has.
    pub sharding: Sharding,
    /// Extents of that part in the whole.
    pub shard_dims: Vec<usize>,
    /// The array on a device.
    pub shard: Shape,
    /// The sharding in the words that are reported to clients.
    pub(crate) reported: Arc<str>,
    /// The one element of a result that has no other: the program gives it once, in the place of
    /// the whole.
    pub element: Option<Arc<[u8]>>,
}

impl IoSharding {
    fn new(whole: Shape, sharding: Sharding, replicas: bool) -> Result<Self> {
        let reported = sharding.text().into();
        // Summands are what each device has, and differ.
        let sharding = sharding.with_copies();
        let shard_dims = sharding.shard(&whole.dims)?;
        // Rows of replicas are arrays without that axis.
        let dims = if replicas { shard_dims[1..].to_vec() } else { shard_dims.clone() };
        let shard = Shape::new(whole.dtype, dims);
        Ok(Self { whole, sharding, shard_dims, shard, reported, element: None })
    }

    /// Bytes of what the program gives for it, or takes.
    pub fn bytes(&self) -> usize {
        self.element.as_ref().map_or_else(|| self.whole.bytes(), |element| element.len())
    }

    /// Leaves it to the devices to repeat the element of a result that has no other.
    pub fn settle_element(&mut self, graph: &mut Graph, index: usize, at: LocationId) {
        let id = graph.main.results[index];
        let Some(element) = only_element(graph, id).filter(|_| self.whole.elements() > 1) else {
            return;
        };
        let scalar = graph.add(Shape::scalar(self.whole.dtype));
        graph.values[scalar.index()].known = Some(Arc::clone(&element));
        graph.main.nodes.push(Node {
            work: NodeKind::Constant(Arc::clone(&element)),
            operands: Vec::new(),
            shapes: Vec::new(),
            results: vec![scalar],
            name: CONSTANT.mnemonic.into(),
            location: at,
            effect: false,
        });
        graph.main.results[index] = scalar;
        self.element = Some(element);
    }

    /// These shards with a row for each copy that devices have, as an axis in front.
    ///
    /// # Errors
    /// `BadArgument` where the rows are past what can be addressed.
    pub fn in_rows(&self) -> Result<Self> {
        let sharding = self.sharding.in_rows();
        let in_front = |first: usize, rest: &[usize]| [&[first], rest].concat();
        let whole = Shape::new(self.whole.dtype, in_front(sharding.shards[0], &self.whole.dims));
        let bytes = self.whole.bytes().checked_mul(sharding.shards[0]);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            let (whole, copies) = (&self.whole, sharding.shards[0]);
            return Err(Error::bad(format!("{whole} in {copies} copies is past 2^63 bytes")));
        }
        Ok(Self { whole, sharding, shard_dims: in_front(1, &self.shard_dims), ..self.clone() })
    }

    /// Makes the rows of a result out of what each device has of it, and appends what that takes
    /// to the program.
    ///
    /// # Errors
    /// Those of [`IoSharding::in_rows`].
    pub fn joined_rows(
        &self,
        graph: &mut Graph,
        copies: &[ValueId],
        location: LocationId,
    ) -> Result<(Self, ValueId)> {
        let rows = self.in_rows()?;
        let part_shape = Shape::new(self.whole.dtype, self.shard_dims.clone());
        let mut node = |work: NodeKind, operands: Vec<(ValueId, Shape)>, result: &Shape| {
            let id = graph.add(result.clone());
            let (operands, shapes) = operands.into_iter().unzip();
            let (name, results) = ("copies".into(), vec![id]);
            let node = Node { work, operands, shapes, results, name, location, effect: false };
            graph.main.nodes.push(node);
            id
        };
        let mut parts: Vec<Option<(ValueId, Shape)>> =
            vec![None; rows.sharding.shards.iter().product()];
        for (device, &value) in copies.iter().enumerate() {
            let number = rows.sharding.number(&rows.sharding.places[device]);
            if parts[number].is_some() {
                continue;
            }
            let mut part = value;
            if part_shape != self.whole {
                let strides = self.whole.strides();
                let start = self.sharding.start(device, &self.shard_dims);
                let offset = start.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
                let signed = |&stride: &usize| isize::try_from(stride).unwrap_or(isize::MAX);
                let strides = strides.iter().map(signed).collect();
                let work = NodeKind::Access(Access { offset, strides });
                part = node(work, vec![(value, self.whole.clone())], &part_shape);
            }
            parts[number] = Some((part, part_shape.clone()));
        }
        let holes = || Error::bad(format!("{} in {} has holes", self.whole, self.reported));
        let parts = parts.into_iter().collect::<Option<Vec<_>>>().ok_or_else(holes)?;
        let row = Shape::new(self.whole.dtype, rows.shard_dims.clone());
        let parts = parts.into_iter().map(|(part, _)| (part, row.clone())).collect();
        let kernel = across::join(&row, &rows.whole, &rows.sharding.shards);
        let whole = rows.whole.clone();
        let joined = node(NodeKind::Kernel(kernel.into()), parts, &whole);
        Ok((rows, joined))
    }

    /// Whether the array on a device is the whole as it is.
    pub fn is_whole(&self) -> bool {
        self.sharding.is_replicated() && self.whole.dtype.element().bits >= 8
    }
}

/// Says how results are split, from parameters and from results of which the program says it; `None`
/// where it has nothing to say.
pub type SplitResults =
    fn(&Module, (&[IoSharding], &[Option<Sharding>]), usize) -> Result<Option<Vec<Sharding>>>;

/// The parameters and results of a program over several devices.
#[derive(Debug)]
pub struct IoShardings {
    /// How each parameter is spread over the devices.
    pub parameters: Vec<IoSharding>,
    /// How each result is spread over them.
    pub results: Vec<IoSharding>,
    /// What the program asks about its shardings.
    pub inspections: Vec<Inspection>,
}

impl IoShardings {
    /// What the program states.
    ///
    /// Where it states nothing, parameters in `free` are split as what is made of them, others are
    /// whole on every device, and results are split as `split` says, or as what they are made of.
    /// Parameters in `apart` have a row for each copy.
    ///
    /// # Errors
    /// `BadArgument` and `Unimplemented` with the number of the parameter or result.
    pub fn new(
        module: &Module,
        entry: &Function,
        (parameters, results): (Vec<Shape>, &[Shape]),
        (devices, apart, free): (Devices, &BTreeMap<usize, IoSharding>, &[bool]),
        split: SplitResults,
    ) -> Result<Self> {
        let (rows, count) = (devices.replicas, devices.count);
        let none = Attributes::default();
        let numbered = |what: &str, index: usize, error: Error| match error {
            Error::Unimplemented(why) => Error::Unimplemented(format!("{what} {index}: {why}")),
            Error::BadArgument(why) => Error::BadArgument(format!("{what} {index}: {why}")),
            other => other,
        };
        let mut made =
            Self { parameters: Vec::new(), results: Vec::new(), inspections: Vec::new() };
        let (mut wholes, mut known) = (Vec::new(), Vec::new());
        for (index, whole) in parameters.into_iter().enumerate() {
            let whole = match apart.get(&index) {
                Some(_) => Shape::new(whole.dtype, whole.dims[1..].to_vec()),
                None => whole,
            };
            let attributes = entry.arguments.get(index).unwrap_or(&none);
            let stated = if rows {
                None
            } else {
                let stated = stated(module, attributes, (whole.rank(), count));
                stated.map_err(|error| numbered("parameter", index, error))?
            };
            known.push(stated);
            wholes.push(whole);
        }
        let mut stated_results = Vec::new();
        for (index, whole) in results.iter().enumerate().filter(|_| !rows) {
            let attributes = entry.results.get(index).map_or(&none, |(_, attributes)| attributes);
            let stated = stated(module, attributes, (whole.rank(), count));
            stated_results.push(stated.map_err(|error| numbered("result", index, error))?);
        }
        let chosen = |index: usize| {
            *free.get(index).or(free.first().filter(|_| free.len() == 1)).unwrap_or(&false)
        };
        if !rows && (0..known.len()).any(|index| known[index].is_none() && chosen(index)) {
            let mut forward = Propagation::new(module, count);
            let (given, made) = (in_copies(&known), in_copies(&stated_results));
            let wanted = wanted::parameters(&mut forward, entry, given, &made, 0);
            for (index, (known, wanted)) in known.iter_mut().zip(wanted).enumerate() {
                *known = known.take().or_else(|| wanted.filter(|_| chosen(index)));
            }
        }
        for (index, (whole, known)) in wholes.into_iter().zip(&known).enumerate() {
            let rank = whole.rank();
            let other = || {
                if rows { Sharding::rows(rank, count) } else { Sharding::replicated(rank, count) }
            };
            let sharding = known.clone().unwrap_or_else(other);
            let io_sharding = IoSharding::new(whole, sharding, rows);
            let io_sharding = io_sharding.map_err(|error| numbered("parameter", index, error))?;
            made.parameters.push(match apart.get(&index) {
                Some(_) => io_sharding.in_rows()?,
                None => io_sharding,
            });
        }
        stated_results.resize(results.len(), None);
        let known_sides = (&made.parameters[..], &stated_results[..]);
        // What has no common axes is split as what it is made of alone.
        let found = if rows { None } else { split(module, known_sides, count).ok().flatten() };
        let mut follows = vec![None; results.len()];
        if found.is_none() || module.functions.iter().any(|function| asks(&function.body)) {
            let mut propagation = Propagation::new(module, count);
            follows = propagation.entry(entry, in_copies(&known));
            follows.resize(results.len(), None);
            made.inspections = propagation.inspections;
        }
        if let Some(split) = found {
            // A token is an array here, and none there.
            let alike = |(split, whole): (Sharding, &Shape)| {
                Some(split).filter(|split| split.shards.len() == whole.rank())
            };
            stated_results = split.into_iter().zip(results).map(alike).collect();
            follows.fill(None);
        }
        let shardings = stated_results.into_iter().zip(follows);
        for (index, (whole, (stated, follows))) in results.iter().zip(shardings).enumerate() {
            let rank = whole.rank();
            let numbered = |error| numbered("result", index, error);
            let sharding = if rows {
                Sharding::rows(rank, count)
            } else {
                stated.or(follows).unwrap_or_else(|| Sharding::replicated(rank, count))
            };
            made.results.push(IoSharding::new(whole.clone(), sharding, rows).map_err(numbered)?);
        }
        Ok(made)
    }

    /// The devices in classes: those of one have the same part of every parameter and result.
    pub fn classes(&self) -> Vec<Vec<usize>> {
        let all = || self.parameters.iter().chain(&self.results).map(|io| &io.sharding);
        let devices = all().map(|sharding| sharding.places.len()).next().unwrap_or(1);
        let mut class = vec![0; devices];
        let mut count = 1;
        for sharding in all().filter(|sharding| !sharding.is_replicated()) {
            if count == devices {
                break;
            }
            let mut numbers = HashMap::new();
            for (device, class) in class.iter_mut().enumerate() {
                let next = numbers.len();
                *class = *numbers.entry((*class, sharding.part(device))).or_insert(next);
            }
            count = numbers.len();
        }
        let mut classes = vec![Vec::new(); count];
        class.into_iter().enumerate().for_each(|(device, class)| classes[class].push(device));
        classes
    }

    /// Bytes of the whole arrays that a run makes from parts.
    pub fn assembled(&self) -> Bytes {
        let all = self
            .parameters
            .iter()
            .chain(&self.results)
            .filter(|io_sharding| !io_sharding.is_whole());
        Bytes(all.fold(0, |sum, io_sharding| sum.saturating_add(to_u64(io_sharding.bytes()))))
    }
}

/// Whether code asks how something is split.
fn asks(region: &Region) -> bool {
    let operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations.into_iter().any(|operation| {
        let row = Operator::of(operation).row();
        row.is_some_and(|row| row.sharding == ShardingRule::Inspected)
            || operation.regions.iter().any(asks)
    })
}

/// These shardings, with summands as copies.
fn in_copies(all: &[Option<Sharding>]) -> Vec<Option<Sharding>> {
    all.iter().map(|one| one.clone().map(Sharding::with_copies)).collect()
}

/// The element of a value that has no other.
fn only_element(graph: &Graph, id: ValueId) -> Option<Arc<[u8]>> {
    let node = graph.main.nodes.iter().find(|node| node.results.contains(&id))?;
    node.only_element(graph)
}

/// The sharding that the attributes of a parameter or result state.
pub(super) fn stated(
    module: &Module,
    attributes: &Attributes,
    (rank, devices): (usize, usize),
) -> Result<Option<Sharding>> {
    if let Some(Attribute::Sharding(sharding)) = attributes.get("sdy.sharding") {
        return Sharding::of(sharding, module, (rank, devices), &|_| true).map(Some);
    }
    let text = attributes.text("mhlo.sharding");
    text.map(|text| Sharding::parse(text, rank, devices)).transpose()
}

/// A sharding in the words that are reported to clients.
pub fn reported(io_sharding: &IoSharding) -> Arc<str> {
    Arc::clone(&io_sharding.reported)
}
