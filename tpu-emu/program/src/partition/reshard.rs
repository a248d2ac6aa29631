//! From one layout to another.
use super::axes::{Layout, piece};
use super::emit::Emitter;
use tpu_base::error::Result;
use tpu_ops::DYNAMIC_SLICE;
use tpu_stablehlo::ir::{Attribute, Attributes, Type, Value};

impl Emitter<'_> {
    /// An array in another layout; `whole` has its extents, where they are known.
    pub(super) fn brought(
        &mut self,
        value: Value,
        from: &Layout,
        (to, whole): (&Layout, Option<&[i64]>),
    ) -> Result<Value> {
        if from == to || self.written(value).tensor().is_none() {
            return Ok(value);
        }
        let key = (value, to.clone());
        if let Some(&known) = self.brought.iter().rev().find_map(|block| block.get(&key)) {
            return Ok(known);
        }
        let made = match (self.splats.get(&value).cloned(), whole) {
            (Some(elements), Some(whole)) => {
                let mut of = self.tensor(value)?;
                for ((dim, whole), axes) in of.dims.iter_mut().zip(whole).zip(&to.0) {
                    *dim = piece(*whole, self.count(axes));
                }
                self.splat(&elements, of)
            }
            (_, None) => self.moved(value, from.clone(), to)?,
            (None, Some(whole)) => self.moved_unevenly(value, from.clone(), (to, whole))?,
        };
        if let Some(block) = self.brought.last_mut() {
            block.insert(key, made);
        }
        Ok(made)
    }

    /// An array in another layout, where pieces may be of different lengths: axes along which they
    /// are or will be are whole in between.
    fn moved_unevenly(
        &mut self,
        mut value: Value,
        mut now: Layout,
        (to, whole): (&Layout, &[i64]),
    ) -> Result<Value> {
        let same = |(a, b): (&Vec<u8>, &Vec<u8>)| self.count(a) == self.count(b);
        let dims = 0..whole.len().min(now.0.len());
        let odd = |dim: usize, layout: &Layout| whole[dim] % self.count(&layout.0[dim]) != 0;
        let changes = |&dim: &usize| now.0[dim] != to.0[dim] && (odd(dim, &now) || odd(dim, to));
        let changing: Vec<usize> = dims.filter(changes).collect();
        if changing.is_empty() || now.0.iter().zip(&to.0).all(same) {
            return self.moved(value, now, to);
        }
        let mut between = to.clone();
        for &dim in &changing {
            let axes = std::mem::take(&mut now.0[dim]);
            between.0[dim].clear();
            if !axes.is_empty() {
                value = self.all_gather(value, dim, &axes)?;
                value = self.cut_out(value, dim, 0..whole[dim])?;
            }
        }
        value = self.moved(value, now, &between)?;
        for dim in changing {
            let axes = &to.0[dim];
            let devices = self.count(axes);
            if axes.is_empty() {
                continue;
            }
            let own = piece(whole[dim], devices);
            value = self.extended(value, dim, [0, own * devices - whole[dim]])?;
            let start = self.place_at(axes, [0, own]);
            value = self.read_at(value, (dim, start), own)?;
        }
        Ok(value)
    }

    /// How many parts some axes make.
    pub(super) fn count(&self, axes: &[u8]) -> i64 {
        i64::try_from(self.axes.count(axes)).unwrap_or(i64::MAX)
    }

    fn moved(&mut self, mut value: Value, mut now: Layout, to: &Layout) -> Result<Value> {
        loop {
            value = self.cut(value, &mut now, to)?;
            if now == *to {
                return Ok(value);
            }
            let same = |(a, b): (&Vec<u8>, &Vec<u8>)| self.count(a) == self.count(b);
            if now.0.iter().zip(&to.0).all(same) {
                return self.permuted(value, &now, to);
            }
            value = match self.exchange(&now, to) {
                Some((from, into, axes)) => {
                    let keep = now.0[from].len() - axes.len();
                    now.0[from].truncate(keep);
                    now.0[into].extend(&axes);
                    self.all_to_all(value, (into, from), &axes)?
                }
                None => {
                    let differs = (0..now.0.len()).find(|&dim| !to.0[dim].starts_with(&now.0[dim]));
                    let Some(dim) = differs else { return Ok(value) };
                    let had = &now.0[dim];
                    let pairs = had.iter().zip(&to.0[dim]);
                    let common = pairs.take_while(|(a, b)| a == b).count();
                    let axes = now.0[dim].split_off(common);
                    self.all_gather(value, dim, &axes)?
                }
            };
        }
    }

    /// Takes the device's part along axes that do not split the array yet.
    fn cut(&mut self, value: Value, now: &mut Layout, to: &Layout) -> Result<Value> {
        let mut more = vec![Vec::new(); now.0.len()];
        let mut any = false;
        for (dim, wanted) in to.0.iter().enumerate() {
            let Some(rest) = wanted.strip_prefix(&now.0[dim][..]) else { continue };
            if rest.is_empty() || rest.iter().any(|&axis| now.uses(axis)) {
                continue;
            }
            any = true;
            more[dim] = rest.to_vec();
        }
        if !any {
            return Ok(value);
        }
        for (split, rest) in now.0.iter_mut().zip(&more) {
            split.extend(rest);
        }
        self.part(value, &more)
    }

    /// The device's part along these axes.
    pub(super) fn part(&mut self, value: Value, more: &[Vec<u8>]) -> Result<Value> {
        let mut of = self.tensor(value)?;
        let mut operands = vec![value];
        for (dim, axes) in of.dims.iter_mut().zip(more) {
            *dim /= self.count(axes);
            operands.push(self.start(axes, *dim));
        }
        let sizes = Attribute::Integers(of.dims.clone());
        let attributes = Attributes(vec![("slice_sizes".into(), sizes)]);
        Ok(self.simple(&DYNAMIC_SLICE, operands, Type::Tensor(of), attributes))
    }

    /// Axes that go from the minor end of one axis of the array to that of another.
    fn exchange(&self, now: &Layout, to: &Layout) -> Option<(usize, usize, Vec<u8>)> {
        for (from, had) in now.0.iter().enumerate() {
            let Some(axes) = had.strip_prefix(&to.0[from][..]).filter(|rest| !rest.is_empty())
            else {
                continue;
            };
            let into = (0..now.0.len()).find(|&into| {
                to.0[into].strip_prefix(&now.0[into][..]).is_some_and(|rest| rest.starts_with(axes))
            });
            if let Some(into) = into {
                return Some((from, into, axes.to_vec()));
            }
        }
        None
    }
}
