//! The axes along which devices are numbered, so fine that every sharding of a program is a list of
//! them for each axis of an array.
use crate::grid::mesh_of;
use crate::sharding::Sharding;
use std::collections::BTreeSet;
use tpu_base::error::{Error, Result};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, Function, Mesh, MeshRef, Region, TensorSharding,
};

/// Which axes of the devices split an array, major first, by axis of the array. Along axes that are
/// not there, it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Layout(pub(super) Vec<Vec<u8>>);

impl Layout {
    /// Every device has all of it.
    pub(super) fn whole(rank: usize) -> Self {
        Self(vec![Vec::new(); rank])
    }

    pub(super) fn is_whole(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// Whether an axis of the devices splits it.
    pub(super) fn uses(&self, axis: u8) -> bool {
        self.0.iter().any(|axes| axes.contains(&axis))
    }
}

/// How many of so many elements each of some devices has: as many as the first one.
pub(super) fn piece(whole: i64, devices: i64) -> i64 {
    whole / devices + i64::from(whole % devices != 0)
}

/// The axes of all devices, major first.
#[derive(Debug)]
pub(super) struct Axes {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    /// The device at each place of the grid; empty for 0, 1, 2, ….
    order: Vec<usize>,
    pub(super) devices: usize,
}

impl Axes {
    /// The axes that the meshes and shardings of a program need.
    ///
    /// # Errors
    /// `Unimplemented` for meshes of several orders.
    pub(super) fn of(module: &Module, entry: &Function, devices: usize) -> Result<Self> {
        let mut stated = Stated::default();
        for named in &module.meshes {
            stated.mesh(&named.mesh);
        }
        let sides = entry.arguments.iter().chain(entry.results.iter().map(|(_, of)| of));
        sides.for_each(|attributes| stated.attributes(attributes, module));
        stated.region(&entry.body, module);
        let mut strides = vec![1, devices];
        for stride in stated.strides {
            // Strides that are no multiples of one another are of meshes that have no common axes.
            let at = strides.partition_point(|&known| known < stride);
            let above = strides.get(at).is_some_and(|above| above % stride == 0);
            if above && strides[at] != stride && stride % strides[at - 1] == 0 {
                strides.insert(at, stride);
            }
        }
        let mut orders: Vec<Vec<usize>> = stated.orders.into_iter().collect();
        orders.retain(|order| order.len() == devices);
        let order = match &mut orders[..] {
            [] => Vec::new(),
            [order] => std::mem::take(order),
            several => {
                let what = format!("{} orders of the devices in one program", several.len());
                return Err(Error::Unimplemented(what));
            }
        };
        let mut axes = Self { sizes: Vec::new(), strides: Vec::new(), order, devices };
        for pair in strides.windows(2).rev() {
            let mut stride = pair[1];
            for prime in primes(pair[1] / pair[0].max(1)) {
                stride /= prime;
                axes.sizes.push(prime);
                axes.strides.push(stride);
            }
        }
        Ok(axes)
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<u8> {
        (0..self.sizes.len()).filter_map(|axis| u8::try_from(axis).ok()).collect()
    }

    /// How many places some axes have together.
    pub(super) fn count(&self, axes: &[u8]) -> usize {
        axes.iter().map(|&axis| self.sizes[usize::from(axis)]).product()
    }

    /// How many places one axis has.
    pub(super) fn size(&self, axis: u8) -> usize {
        self.sizes[usize::from(axis)]
    }

    /// The device at a place of the grid.
    fn device(&self, place: usize) -> usize {
        self.order.get(place).copied().unwrap_or(place)
    }

    /// The number of each device along some axes, major first.
    pub(super) fn numbers(&self, axes: &[u8]) -> Vec<usize> {
        let mut numbers = vec![0; self.devices];
        for place in 0..self.devices {
            numbers[self.device(place)] = axes.iter().fold(0, |number, &axis| {
                let at = usize::from(axis);
                number * self.sizes[at] + place / self.strides[at] % self.sizes[at]
            });
        }
        numbers
    }

    /// The groups of devices that differ along these axes alone, in the order of the axes.
    pub(super) fn groups(&self, axes: &[u8]) -> Vec<Vec<usize>> {
        let mut rest = self.all();
        rest.retain(|axis| !axes.contains(axis));
        let (along, across) = (self.numbers(axes), self.numbers(&rest));
        let mut groups = vec![vec![0; self.count(axes)]; self.count(&rest)];
        for device in 0..self.devices {
            groups[across[device]][along[device]] = device;
        }
        groups
    }

    /// The axes along which the devices of each of these groups differ, where these groups are
    /// all that do.
    pub(super) fn along(&self, mut listed: Vec<Vec<usize>>) -> Option<Vec<u8>> {
        listed.sort_unstable();
        let group = listed.first()?;
        let mut axes = self.all();
        axes.retain(|&axis| {
            let numbers = self.numbers(&[axis]);
            let number = |device: &usize| numbers.get(*device);
            group.iter().any(|device| number(device) != number(&group[0]))
        });
        let mut groups = self.groups(&axes);
        groups.sort_unstable();
        (!axes.is_empty() && groups == listed).then_some(axes)
    }

    /// The axes from a stride on that have so many places together.
    fn range(&self, stride: usize, size: usize) -> Option<Vec<u8>> {
        let mut found = Vec::new();
        for (axis, &own) in self.strides.iter().enumerate() {
            if own >= stride && own < stride * size {
                found.push(u8::try_from(axis).ok()?);
            }
        }
        (self.count(&found) == size).then_some(found)
    }

    /// The axes of a part of a mesh.
    fn part(&self, mesh: &Mesh, part: &AxisRef) -> Result<Vec<u8>> {
        let unknown = || Error::Unimplemented(format!("axis {:?} of {mesh:?}", part.name));
        let at = mesh.axes.iter().position(|(name, _)| *name == part.name).ok_or_else(unknown)?;
        let sizes = mesh.axes.iter().map(|(_, size)| usize::try_from(*size).ok());
        let sizes: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(unknown)?;
        let below: usize = sizes[at + 1..].iter().product();
        let (before, size) = match part.part {
            None => (1, sizes[at]),
            Some((before, size)) => {
                usize::try_from(before).ok().zip(usize::try_from(size).ok()).ok_or_else(unknown)?
            }
        };
        let inner = sizes[at].checked_div(before.saturating_mul(size)).ok_or_else(unknown)?;
        self.range(below * inner, size).ok_or_else(unknown)
    }

    /// The axes that names of a mesh's axes stand for.
    pub(super) fn named(&self, mesh: &Mesh, names: &[std::sync::Arc<str>]) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        for (name, _) in mesh.axes.iter().filter(|(name, _)| names.contains(name)) {
            all.extend(self.part(mesh, &AxisRef { name: name.clone(), part: None })?);
        }
        Ok(all)
    }

    /// What an attribute of Shardy says, and which axes of the array it leaves open.
    ///
    /// # Errors
    /// `Unimplemented` where the axes are not among these, and for arrays of summands.
    pub(super) fn stated(
        &self,
        stated: &TensorSharding,
        module: &Module,
    ) -> Result<(Layout, Vec<bool>)> {
        if !stated.unreduced.is_empty() {
            return Err(Error::Unimplemented("summands of one array on each device".to_owned()));
        }
        let mesh = mesh_of(module, &stated.mesh)?;
        let mut layout = Layout::whole(stated.dimensions.len());
        for (dimension, axes) in stated.dimensions.iter().zip(&mut layout.0) {
            for part in &dimension.axes {
                axes.extend(self.part(mesh, part)?);
            }
        }
        let open = stated.dimensions.iter().map(|dimension| !dimension.closed).collect();
        Ok((layout, open))
    }

    /// What each device has of an array of these extents. Axes that do not share them evenly split
    /// nothing.
    pub(super) fn known(&self, layout: &Layout, dims: &[i64]) -> Sharding {
        let mut known = Sharding::replicated(dims.len(), self.devices);
        for (axis, (split, &size)) in layout.0.iter().zip(dims).enumerate() {
            // A part of a mesh's axis has no name for clients.
            let even =
                usize::try_from(size).is_ok_and(|size| size.is_multiple_of(self.count(split)));
            let split = if even { &split[..] } else { &[] };
            known.shards[axis] = self.count(split);
            for (place, number) in known.places.iter_mut().zip(self.numbers(split)) {
                place[axis] = number;
            }
        }
        known
    }

    /// A sharding that is known device by device.
    ///
    /// # Errors
    /// `Unimplemented` where it is none along these axes, and for arrays of summands.
    pub(super) fn found(&self, sharding: &Sharding) -> Result<Layout> {
        let rank = sharding.shards.len();
        if sharding.partial_sums > 1 {
            return Err(Error::Unimplemented("summands of one array on each device".to_owned()));
        }
        let mut layout = Layout::whole(rank);
        if sharding.shards.iter().all(|&shards| shards == 1) {
            return Ok(layout);
        }
        let no = || Error::Unimplemented(format!("the sharding {}", sharding.text()));
        if sharding.places.len() != self.devices {
            return Err(no());
        }
        let at = |place: usize, dim: usize| sharding.places[self.device(place)][dim];
        for dim in (0..rank).filter(|&dim| sharding.shards[dim] > 1) {
            let mut used: Vec<(usize, u8)> = Vec::new();
            for (axis, &stride) in self.strides.iter().enumerate() {
                let step = at(stride, dim);
                if step > 0 {
                    used.push((step, u8::try_from(axis).map_err(|_| no())?));
                }
            }
            used.sort_unstable_by(|a, b| b.cmp(a));
            layout.0[dim] = used.into_iter().map(|(_, axis)| axis).collect();
            let numbers = self.numbers(&layout.0[dim]);
            let same = |(number, place): (&usize, &Vec<usize>)| *number == place[dim];
            let all = self.count(&layout.0[dim]) == sharding.shards[dim];
            if !all || !numbers.iter().zip(&sharding.places).all(same) {
                return Err(no());
            }
        }
        Ok(layout)
    }
}

/// The prime factors of a number, the largest first.
fn primes(mut number: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut prime = 2;
    while prime * prime <= number {
        while number.is_multiple_of(prime) {
            found.push(prime);
            number /= prime;
        }
        prime += 1;
    }
    if number > 1 {
        found.push(number);
    }
    found.reverse();
    found
}

/// What a program says of how its devices are numbered.
#[derive(Default)]
struct Stated {
    strides: BTreeSet<usize>,
    orders: BTreeSet<Vec<usize>>,
}

impl Stated {
    fn shape(&mut self, sizes: impl DoubleEndedIterator<Item = usize>) {
        let mut stride = 1_usize;
        for size in sizes.rev() {
            stride = stride.saturating_mul(size.max(1));
            self.strides.insert(stride);
        }
    }

    fn mesh(&mut self, mesh: &Mesh) {
        self.shape(mesh.axes.iter().filter_map(|(_, size)| usize::try_from(*size).ok()));
        let ids = mesh.device_ids.iter().map(|&id| usize::try_from(id).ok());
        let ids: Option<Vec<usize>> = ids.collect();
        let iota = |ids: &Vec<usize>| ids.iter().copied().eq(0..ids.len());
        if let Some(ids) = ids.filter(|ids| ids.len() > 1 && !iota(ids)) {
            self.orders.insert(ids);
        }
    }

    fn sharding(&mut self, sharding: &TensorSharding, module: &Module) {
        if let MeshRef::Inline(mesh) = &sharding.mesh {
            self.mesh(mesh);
        }
        let Ok(mesh) = mesh_of(module, &sharding.mesh) else { return };
        let parts = sharding.dimensions.iter().flat_map(|dimension| &dimension.axes);
        for part in parts.chain(&sharding.unreduced) {
            let Some((before, size)) = part.part else { continue };
            let at = mesh.axes.iter().position(|(name, _)| *name == part.name);
            let sizes: Vec<usize> =
                mesh.axes.iter().filter_map(|(_, size)| usize::try_from(*size).ok()).collect();
            let (Some(at), Ok(before), Ok(size)) =
                (at, usize::try_from(before), usize::try_from(size))
            else {
                continue;
            };
            let Some(&whole) = sizes.get(at) else { continue };
            let below: usize = sizes[at + 1..].iter().product();
            let inner = whole.checked_div(before.saturating_mul(size)).unwrap_or(1);
            self.strides.extend([below * inner, below * inner * size]);
        }
    }

    /// The shapes in a text as `{devices=[2,4]<=[4,2]T(1,0)}`.
    fn text(&mut self, text: &str) {
        for list in text.split('[').skip(1) {
            let numbers = list.split(']').next().unwrap_or_default();
            let sizes: Vec<usize> =
                numbers.split(',').filter_map(|number| number.trim().parse().ok()).collect();
            self.shape(sizes.into_iter());
        }
    }

    fn attributes(&mut self, attributes: &Attributes, module: &Module) {
        for (name, value) in &attributes.0 {
            match value {
                Attribute::Sharding(sharding) => self.sharding(sharding, module),
                Attribute::Shardings(all) => all.iter().for_each(|of| self.sharding(of, module)),
                Attribute::String(_) if name == "mhlo.sharding" => {
                    value.as_str().into_iter().for_each(|text| self.text(text));
                }
                _ => {}
            }
        }
    }

    fn region(&mut self, region: &Region, module: &Module) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            self.attributes(&operation.attributes, module);
            operation.regions.iter().for_each(|region| self.region(region, module));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_as_fine_as_the_program_needs() {
        let source = r#"module {
  sdy.mesh @mesh = <["x"=2, "y"=6]>
  func.func @main(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
}"#;
        let module = tpu_stablehlo::text::parse(source).unwrap();
        let axes = Axes::of(&module, &module.functions[0], 12).unwrap();
        assert_eq!(axes.sizes, [2, 3, 2]);
        let Some(Attribute::Sharding(stated)) =
            module.functions[0].arguments[0].get("sdy.sharding")
        else {
            panic!()
        };
        let (layout, _) = axes.stated(stated, &module).unwrap();
        assert_eq!(layout.0, [[1, 2, 0]]);
        let known = Sharding::of(stated, &module, (1, 12), &|_| true).unwrap();
        assert_eq!(axes.found(&known).unwrap(), layout);
        assert_eq!(axes.groups(&[0])[1], [1, 7]);
        assert_eq!(axes.numbers(&[1, 2, 0])[7], 3);
        for along in [vec![0], vec![1], vec![0, 2], vec![0, 1, 2]] {
            let mut groups = axes.groups(&along);
            groups.reverse();
            assert_eq!(axes.along(groups), Some(along));
        }
        let pairs = |far: usize| (0..6).map(|one| vec![one, one + far]).collect::<Vec<_>>();
        assert_eq!(axes.along(pairs(6)), Some(vec![0]));
        assert_eq!(axes.along(pairs(5)), None);
        assert_eq!(axes.along(pairs(6)[..5].to_vec()), None);
        assert_eq!(axes.along((0..12).map(|one| vec![one]).collect()), None);
        assert_eq!(axes.along(Vec::new()), None);
    }
}
