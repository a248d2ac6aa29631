//! Arrays outside of a core are padded to whole tiles on a chip, and kernels may name the padding:
//! the last block of a pipeline over an array of 900 elements ends at 1,024. Here nothing lies
//! there: such elements are read as nothing, and written nowhere.
use super::{Axis, Steps, View, dense};
use crate::machine::memory::{Bank, Place, poison};
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::movement::block_copy::BlockCopy;

/// Elements of a tile's last dimension.
const LANES: usize = 128;
/// Rows of a tile, at most.
const SUBLANES: usize = 8;
/// Words of a SparseCore's tile.
const WORDS: usize = 8;

impl Axis {
    /// Whether so many elements end in the tile of the last one.
    pub(super) fn reaches(&self, start: usize, extent: usize, stride: usize) -> bool {
        let end = start.saturating_add(extent);
        stride == 1 && start < self.there() && end <= self.extent + self.room
    }

    /// A part of it.
    pub(super) fn part(
        &self,
        start: usize,
        (extent, stride): (usize, usize),
        steps: Steps,
    ) -> Self {
        if stride != 1 {
            return Self::new(extent, steps);
        }
        let end = start + extent;
        let room =
            if end < self.there() { 0 } else { (self.extent + self.room).saturating_sub(end) };
        let gone = end.saturating_sub(self.there().max(start));
        Self { extent, steps, room, gone }
    }
}

impl View {
    /// With the room that a chip has behind each of the last two dimensions, in whole tiles.
    pub(crate) fn in_tiles(mut self) -> Self {
        let packing = packing(self.dtype);
        match &mut self.axes[..] {
            [] => {}
            [one] => one.room = padding(one.extent, LANES * packing),
            [.., rows, lanes] => {
                let mut tile = packing;
                while tile < rows.extent.min(SUBLANES) {
                    tile *= 2;
                }
                rows.room = padding(rows.extent, tile);
                lanes.room = padding(lanes.extent, LANES);
            }
        }
        self
    }

    /// With the room that a SparseCore's tiles have behind the last dimension, in whole words.
    pub(crate) fn in_words(mut self) -> Self {
        let tile = WORDS * packing(self.dtype);
        if let Some(last) = self.axes.last_mut() {
            last.room = padding(last.extent, tile);
        }
        self
    }

    /// Whether elements of it are in tiles alone.
    pub(super) fn is_cut(&self) -> bool {
        self.axes.iter().any(|axis| axis.gone > 0)
    }

    /// Fails where other extents would have elements that are in tiles alone.
    pub(super) fn is_all_there(&self, dims: &[usize]) -> Result<(), String> {
        if self.is_cut() {
            return Err(format!("{:?} as {dims:?}: it ends behind its array", self.dims()));
        }
        Ok(())
    }

    /// The elements at these places of it.
    fn first(&self, dims: &[usize]) -> Self {
        let mut view = self.clone();
        for (axis, &extent) in view.axes.iter_mut().zip(dims) {
            (axis.extent, axis.room, axis.gone) = (extent, 0, 0);
        }
        view
    }

    fn there(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::there).collect()
    }

    /// Without the elements that are in tiles alone.
    pub(super) fn cut(&self) -> Self {
        self.first(&self.there())
    }

    /// Two of the same extents without the elements that one of them has in tiles alone.
    pub(crate) fn both_there(&self, other: &Self) -> (Self, Self) {
        let both: Vec<usize> =
            self.axes.iter().zip(&other.axes).map(|(a, b)| a.there().min(b.there())).collect();
        (self.first(&both), other.first(&both))
    }

    /// Reads what is there, and nothing for the rest.
    pub(super) fn read_there(&self, bank: &Bank, to: Place) {
        poison(to, self.dtype);
        let (size, dims, there) = (self.dtype.host_bytes(), self.dims(), self.there());
        let mut between = Aligned::zeros(there.iter().product::<usize>() * size);
        self.first(&there).read(bank, Place::of_mut(between.bytes_mut()));
        let copy = BlockCopy::new(size, &there, &dense(&there), &dense(&dims));
        copy.run(between.bytes(), to.bytes_mut());
    }

    /// Writes what is there.
    pub(super) fn write_there(&self, bank: &Bank, from: Place) {
        let (size, dims, there) = (self.dtype.host_bytes(), self.dims(), self.there());
        let mut between = Aligned::zeros(there.iter().product::<usize>() * size);
        let copy = BlockCopy::new(size, &there, &dense(&dims), &dense(&there));
        copy.run(from.bytes(), between.bytes_mut());
        self.first(&there).write(bank, Place::of_mut(between.bytes_mut()));
    }

    /// Makes its elements those of another view: nothing where that has none.
    pub(super) fn copy_there(&self, bank: &Bank, from: &Self) {
        let both: Vec<usize> =
            self.axes.iter().zip(&from.axes).map(|(a, b)| a.there().min(b.there())).collect();
        if both != self.there() {
            let mut nothing = Aligned::zeros(self.bytes());
            let place = Place::of_mut(nothing.bytes_mut());
            poison(place, self.dtype);
            self.write(bank, place);
        }
        self.first(&both).copy_from(bank, &from.first(&both));
    }
}

/// Elements that are 32 bits together.
fn packing(dtype: DType) -> usize {
    let of = dtype.element();
    usize::try_from(32 / (of.bits * of.parts).clamp(1, 32)).unwrap_or(1)
}

fn padding(extent: usize, tile: usize) -> usize {
    extent.next_multiple_of(tile) - extent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Cell;

    fn bytes(bank: &Bank, view: &View) -> Vec<u8> {
        let mut bytes = Aligned::zeros(view.bytes());
        view.read(bank, Place::of_mut(bytes.bytes_mut()));
        bytes.bytes().to_vec()
    }

    #[test]
    fn the_last_block_of_an_array_ends_with_its_tile() {
        let mut bank = Bank::default();
        let array = bank.own(3 * 130, Cell::Element(DType::U8));
        bank.get(array).place().bytes_mut().fill(1);
        let view = View::whole(array, DType::U8, &[3, 130]).in_tiles();
        let last = view.slice(&[2, 128], &[2, 128], None).unwrap();
        let had = bytes(&bank, &last);
        assert_eq!(had.iter().filter(|&&byte| byte == 1).count(), 2);
        assert_eq!((had[0], had[1], had[2], had[128]), (1, 1, 0xff, 0xff));
        let again = last.slice(&[0, 1], &[2, 3], None).unwrap();
        assert_eq!(bytes(&bank, &again), [1, 0xff, 0xff, 0xff, 0xff, 0xff]);
        for (indices, dims) in [([3, 0], [1, 1]), ([2, 128], [3, 128]), ([0, 128], [3, 129])] {
            let error = view.slice(&indices, &dims, None).unwrap_err();
            assert!(error.contains("out of bounds"), "{error}");
        }
        assert!(last.with_dims(&[256]).unwrap_err().contains("behind its array"));
        let words = View::whole(array, DType::U8, &[3, 130]).in_words();
        assert!(words.slice(&[0, 128], &[3, 32], None).is_ok());
        assert!(words.slice(&[0, 128], &[3, 33], None).is_err());
        assert!(words.slice(&[2, 0], &[2, 8], None).is_err());
        let inner = view.slice(&[0, 0], &[2, 64], None).unwrap();
        assert!(inner.slice(&[0, 0], &[3, 64], None).is_err());
    }

    #[test]
    fn copies_leave_what_is_in_tiles_alone() {
        let mut bank = Bank::default();
        let array = bank.own(4 * 5, Cell::Element(DType::S32));
        let block = bank.own(4 * 128, Cell::Element(DType::S32));
        bank.get(array).place().bytes_mut().fill(3);
        let part = View::whole(array, DType::S32, &[5]).in_tiles();
        let part = part.slice(&[4], &[124], None).unwrap();
        let whole = View::whole(block, DType::S32, &[128]);
        let whole = whole.slice(&[4], &[124], None).unwrap();
        whole.copy_from(&bank, &part);
        let had = bytes(&bank, &whole);
        assert_eq!(had[..8], [3, 3, 3, 3, 0xff, 0xff, 0xff, 0x7f]);
        bank.get(block).place().bytes_mut().fill(7);
        part.copy_from(&bank, &whole);
        assert_eq!(bank.get(array).place().bytes()[12..], [3, 3, 3, 3, 7, 7, 7, 7]);
    }
}
