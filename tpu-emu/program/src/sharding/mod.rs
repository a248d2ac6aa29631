//! How an array is split over the devices of a program: which shard of it each device has.
pub(crate) mod calls;
mod derived;
pub mod groups;
pub mod io_shardings;
mod propagate;
mod wanted;
pub(crate) mod zones;

use crate::grid::{Grid, digits, mesh_of};
use tpu_base::error::{Error, Result};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::TensorSharding;

/// Which shard of an array each device holds. Devices are numbered as in the assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharding {
    /// Shards along each axis.
    pub(crate) shards: Vec<usize>,
    /// The shard of each device: its index along each axis.
    pub places: Vec<Vec<usize>>,
    /// Partial sums that a shard is the sum of; 1 for a shard as it is.
    pub partial_sums: usize,
    /// Which of the partial sums each device has.
    pub partial_sum: Vec<usize>,
}

impl Sharding {
    /// Every device has the whole array.
    pub(crate) fn replicated(rank: usize, devices: usize) -> Self {
        let (places, partial_sum) = (vec![vec![0; rank]; devices], vec![0; devices]);
        Self { shards: vec![1; rank], places, partial_sums: 1, partial_sum }
    }

    /// The same shards, with a device's summand as its copy of the shard.
    pub(crate) fn with_copies(self) -> Self {
        let partial_sum = vec![0; self.places.len()];
        Self { partial_sums: 1, partial_sum, ..self }
    }

    /// Device `i` has row `i`.
    pub(crate) fn rows(rank: usize, devices: usize) -> Self {
        let mut rows = Self::replicated(rank, devices);
        if rank > 0 {
            rows.shards[0] = devices;
            rows.places.iter_mut().enumerate().for_each(|(device, place)| place[0] = device);
        }
        rows
    }

    /// What Shardy's attribute says; of the mesh's axes only those that `counts` says.
    ///
    /// # Errors
    /// `BadArgument` for a damaged one; `Unimplemented` for an array on one device of several.
    pub(crate) fn of(
        stated: &TensorSharding,
        module: &Module,
        (rank, devices): (usize, usize),
        counts: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let mesh = mesh_of(module, &stated.mesh)?;
        if mesh.axes.is_empty() && mesh.device_ids.len() == 1 && devices > 1 {
            let what = format!("an array on device {:?} of {devices} alone", mesh.device_ids);
            return Err(Error::Unimplemented(what));
        }
        let grid = Grid::new(mesh, devices)?;
        if stated.dimensions.len() != rank {
            let given = stated.dimensions.len();
            return Err(Error::bad(format!("a sharding of {given} axes for an array of {rank}")));
        }
        let mut sharding = Self::replicated(rank, devices);
        for (axis, dimension) in stated.dimensions.iter().enumerate() {
            for part in dimension.axes.iter().filter(|part| counts(&part.name)) {
                for device in 0..devices {
                    let (place, size) = grid.along(device, part)?;
                    let old = sharding.places[device][axis];
                    sharding.places[device][axis] = old.saturating_mul(size).saturating_add(place);
                    if device == 0 {
                        sharding.shards[axis] = sharding.shards[axis].saturating_mul(size);
                    }
                }
            }
        }
        for part in stated.unreduced.iter().filter(|part| counts(&part.name)) {
            for device in 0..devices {
                let (place, size) = grid.along(device, part)?;
                sharding.partial_sum[device] =
                    sharding.partial_sum[device].saturating_mul(size).saturating_add(place);
                if device == 0 {
                    sharding.partial_sums = sharding.partial_sums.saturating_mul(size);
                }
            }
        }
        sharding.checked()
    }

    /// What a text as `{devices=[2,1,2]<=[4] last_tile_dim_replicate}` says. Shards past the
    /// array's axes are copies.
    ///
    /// # Errors
    /// `Unimplemented` for an array on one device of several, `BadArgument` for other words.
    pub(crate) fn parse(text: &str, rank: usize, devices: usize) -> Result<Self> {
        let wrong = || Error::bad(format!("sharding {text:?} of {rank} axes on {devices} devices"));
        let inside = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let inside = inside.ok_or_else(wrong)?;
        // Where a sharding comes from is in braces of its own, at the end.
        let inside = inside.split(" metadata=").next().unwrap_or(inside).trim();
        if matches!(inside, "replicated" | "manual" | "") {
            return Ok(Self::replicated(rank, devices));
        }
        if inside.starts_with("maximal") {
            return Err(Error::Unimplemented(format!("an array with the sharding {text}")));
        }
        let (extents, rest) = inside
            .strip_prefix("devices=[")
            .and_then(|rest| rest.split_once(']'))
            .ok_or_else(wrong)?;
        let extents = numbers(extents).ok_or_else(wrong)?;
        let (order, last) = rest.split_once(' ').unwrap_or((rest, ""));
        if last.contains("unreduced") {
            return Err(Error::Unimplemented(format!("an array with the sharding {text}")));
        }
        let order = device_order(order, devices).ok_or_else(wrong)?;
        let total = extents.iter().try_fold(1_usize, |total, &size| total.checked_mul(size));
        if total != Some(devices) || order.len() != devices || extents.len() < rank {
            return Err(wrong());
        }
        let mut sharding = Self::replicated(rank, devices);
        sharding.shards.copy_from_slice(&extents[..rank]);
        for (index, &device) in order.iter().enumerate() {
            let place = sharding.places.get_mut(device).ok_or_else(wrong)?;
            place.copy_from_slice(&digits(index, &extents)[..rank]);
        }
        sharding.checked()
    }

    /// Whether every shard is on as many devices as the others.
    pub(crate) fn checked(self) -> Result<Self> {
        let uneven = || Error::bad(format!("tiles {:?} on {:?}", self.shards, self.places));
        let copies = self.copies().ok_or_else(uneven)?;
        let mut seen = vec![0_usize; self.places.len() / copies];
        for device in 0..self.places.len() {
            *seen.get_mut(self.part(device)).ok_or_else(uneven)? += 1;
        }
        if seen.iter().all(|&count| count == copies) { Ok(self) } else { Err(uneven()) }
    }

    /// On how many devices each part is.
    fn copies(&self) -> Option<usize> {
        let shards = self
            .shards
            .iter()
            .try_fold(self.partial_sums, |all, &shards| all.checked_mul(shards))?;
        (shards > 0 && self.places.len().is_multiple_of(shards)).then(|| self.places.len() / shards)
    }

    /// The number of a shard, row-major.
    pub(crate) fn number(&self, place: &[usize]) -> usize {
        place.iter().zip(&self.shards).fold(0, |number, (at, shards)| number * shards + at)
    }

    /// The number of a device's part: a partial sum of its shard, shards row-major.
    pub fn part(&self, device: usize) -> usize {
        self.number(&self.places[device]) * self.partial_sums + self.partial_sum[device]
    }

    /// Whether every device has the whole.
    pub(crate) fn is_replicated(&self) -> bool {
        self.partial_sums == 1 && self.shards.iter().all(|&shards| shards == 1)
    }

    /// Extents of a shard.
    ///
    /// # Errors
    /// `Unimplemented` where an extent is no multiple of its shards.
    pub(crate) fn shard(&self, dims: &[usize]) -> Result<Vec<usize>> {
        let part = |(&dim, &shards): (&usize, &usize)| {
            if dim % shards == 0 {
                return Ok(dim / shards);
            }
            let what = format!("{dims:?} in {:?} tiles, which do not divide it", self.shards);
            Err(Error::Unimplemented(what))
        };
        dims.iter().zip(&self.shards).map(part).collect()
    }

    /// Whether every part has elements of an array of these extents, of which the last along an axis
    /// may have fewer than the others.
    pub(crate) fn shares(&self, dims: &[usize]) -> bool {
        let some =
            |(&dim, &shards): (&usize, &usize)| dim % shards == 0 || reaches_all(dim, shards);
        dims.len() == self.shards.len() && dims.iter().zip(&self.shards).all(some)
    }

    /// Where a device's shard of these extents begins.
    pub fn start(&self, device: usize, shard: &[usize]) -> Vec<usize> {
        self.places[device].iter().zip(shard).map(|(at, size)| at * size).collect()
    }

    /// These shards with an axis in front, along which the copies of a part lie.
    pub(crate) fn in_rows(&self) -> Self {
        let mut seen = vec![0_usize; self.places.len()];
        let mut rows = self.clone();
        for (device, place) in rows.places.iter_mut().enumerate() {
            let copy = &mut seen[self.part(device)];
            place.insert(0, *copy);
            *copy += 1;
        }
        rows.shards.insert(0, self.copies().unwrap_or(1));
        rows
    }

    /// The first device of each part, by the part's number.
    pub fn owners(&self) -> Vec<usize> {
        let mut owners =
            vec![usize::MAX; self.shards.iter().product::<usize>() * self.partial_sums];
        for device in (0..self.places.len()).rev() {
            owners[self.part(device)] = device;
        }
        owners
    }

    /// The sharding in the words of HLO.
    pub(crate) fn text(&self) -> String {
        let copies = self.copies().unwrap_or(1);
        if self.is_replicated() {
            return "{replicated}".to_owned();
        }
        // Copies come before partial sums.
        let mut seen = vec![0_usize; self.places.len()];
        let mut keys = Vec::new();
        for (device, place) in self.places.iter().enumerate() {
            let copy = &mut seen[self.part(device)];
            keys.push((self.number(place), *copy, self.partial_sum[device], device));
            *copy += 1;
        }
        keys.sort_unstable();
        let order: Vec<usize> = keys.into_iter().map(|(.., device)| device).collect();
        let mut extents = self.shards.clone();
        let last = match (copies > 1, self.partial_sums > 1) {
            (false, false) => "",
            (true, false) => " last_tile_dim_replicate",
            (false, true) => " last_tile_dims={unreduced}",
            (true, true) => " last_tile_dims={replicated, unreduced}",
        };
        extents.extend([copies, self.partial_sums].into_iter().filter(|&size| size > 1));
        format!("{{devices=[{}]{}{last}}}", list(&extents), order_text(&order))
    }
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// `<=[4]`, `<=[2,4]T(1,0)` or `0,2,1,3` as a list of devices.
fn device_order(text: &str, devices: usize) -> Option<Vec<usize>> {
    let Some(iota) = text.strip_prefix("<=[") else { return numbers(text) };
    let (shape, order) = iota.split_once(']')?;
    let shape = numbers(shape)?;
    let total = shape.iter().try_fold(1_usize, |total, &size| total.checked_mul(size))?;
    if total != devices {
        return None;
    }
    let order = match order.strip_prefix("T(") {
        Some(order) => numbers(order.strip_suffix(')')?)?,
        None if order.is_empty() => (0..shape.len()).collect(),
        None => return None,
    };
    let mut seen = order.clone();
    seen.sort_unstable();
    seen.iter().copied().eq(0..shape.len()).then(|| transposed(&shape, &order))
}

/// The numbers from 0 on in an array of this shape, read with its axes in this order.
fn transposed(shape: &[usize], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let sizes: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let at = |index| -> usize {
        digits(index, &sizes).iter().zip(order).map(|(digit, &axis)| digit * strides[axis]).sum()
    };
    (0..shape.iter().product()).map(at).collect()
}

/// A list of devices, as a transposed counting where it is one.
fn order_text(order: &[usize]) -> String {
    // Loops of the list, inner first: how often, and how far from one to the next.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    let mut block = 1;
    while block < order.len() {
        let step = order[block].wrapping_sub(order[0]);
        let same = |at: usize| {
            order
                .get(at * block)
                .is_some_and(|&number| number.wrapping_sub(order[0]) == step.wrapping_mul(at))
        };
        let count = (1..=order.len() / block).take_while(|&at| same(at)).count() + 1;
        let count = if order.len().is_multiple_of(block * count) { count } else { break };
        loops.push((count, step));
        block *= count;
    }
    loops.reverse();
    let mut sorted = loops.clone();
    sorted.sort_by_key(|&(_, step)| std::cmp::Reverse(step));
    let shape: Vec<usize> = sorted.iter().map(|&(count, _)| count).collect();
    let axes: Option<Vec<usize>> =
        loops.iter().map(|one| sorted.iter().position(|other| other == one)).collect();
    match axes {
        Some(axes) if block == order.len() && transposed(&shape, &axes) == order => {
            if axes.iter().copied().eq(0..axes.len()) {
                format!("<=[{}]", order.len())
            } else {
                format!("<=[{}]T({})", list(&shape), list(&axes))
            }
        }
        _ => list(order),
    }
}

/// Whether each of so many parts of an extent has elements, where the last one may have fewer than
/// the others.
pub(crate) fn reaches_all(extent: usize, parts: usize) -> bool {
    extent.div_ceil(parts).saturating_mul(parts - 1) < extent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str, rank: usize, devices: usize) -> String {
        Sharding::parse(text, rank, devices).unwrap().text()
    }

    #[test]
    fn words_of_hlo_come_back() {
        for (text, rank) in [
            ("{replicated}", 2),
            ("{devices=[4,2]<=[8]}", 2),
            ("{devices=[8]<=[8]}", 1),
            ("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}", 2),
            ("{devices=[2,4]<=[4,2]T(1,0)}", 2),
            ("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", 2),
            ("{devices=[8]0,2,1,3,4,5,6,7}", 1),
            ("{devices=[2,2,2]<=[2,2,2]T(0,2,1)}", 3),
        ] {
            assert_eq!(round(text, rank, 8), text);
        }
        assert_eq!(
            round("{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}", 2, 8),
            "{replicated}"
        );
    }

    #[test]
    fn a_device_has_the_tile_that_the_list_gives_it() {
        let sharding = Sharding::parse("{devices=[2,4]<=[4,2]T(1,0)}", 2, 8).unwrap();
        assert_eq!(sharding.places[3], [1, 1]);
        assert_eq!(sharding.start(3, &[4, 2]), [4, 2]);
        assert_eq!(sharding.owners(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(sharding.shard(&[8, 8]).unwrap(), [4, 2]);
        assert!(sharding.shard(&[7, 8]).unwrap_err().to_string().contains("do not divide"));
    }

    #[test]
    fn words_that_are_not_known_are_not_guessed() {
        for text in
            ["replicated", "{devices=[4]<=[8]}", "{devices=[9]<=[9]}", "{devices=[8]<=[8]T(1)}"]
        {
            assert!(Sharding::parse(text, 1, 8).is_err(), "{text}");
        }
        assert!(Sharding::parse("{maximal device=1}", 1, 8).is_err());
    }

    #[test]
    fn an_attribute_of_shardy_is_read_with_its_mesh() {
        let source = r#"module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x":(1)2}]>}) -> tensor<8x8xf32> {
    return %x : tensor<8x8xf32>
  }
}"#;
        let module = tpu_stablehlo::text::parse(source).unwrap();
        let attribute = module.functions[0].arguments[0].get("sdy.sharding");
        let Some(tpu_stablehlo::ir::Attribute::Sharding(stated)) = attribute else { panic!() };
        let sharding = Sharding::of(stated, &module, (2, 8), &|_| true).unwrap();
        assert_eq!(sharding.shards, [2, 2]);
        assert_eq!(sharding.places[5], [1, 1]);
        assert_eq!(sharding.text(), "{devices=[2,2,2]<=[4,2]T(1,0) last_tile_dim_replicate}");
        let only = Sharding::of(stated, &module, (2, 8), &|axis| axis == "x").unwrap();
        assert_eq!(only.text(), "{devices=[1,2,4]<=[8] last_tile_dim_replicate}");
    }
}
