//! Indices that programs compute: integers of any type.
use crate::simd;
use tpu_base::tensor::DType;
use tpu_base::units::to_usize;

/// Reads element `at` of an array of integers; unsigned 64-bit ones past `i64::MAX` are that.
pub type IndexReader = fn(bytes: &[u8], at: usize) -> i64;

/// How integers of this type are read; `None` for a type that is none.
pub fn reader(dtype: DType) -> Option<IndexReader> {
    Some(match dtype {
        DType::S1 | DType::S2 | DType::S4 | DType::S8 => |bytes, at| bytes[at].cast_signed().into(),
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => |bytes, at| bytes[at].into(),
        DType::S16 => |bytes, at| i16::from_le_bytes(element(bytes, at)).into(),
        DType::U16 => |bytes, at| u16::from_le_bytes(element(bytes, at)).into(),
        DType::S32 => |bytes, at| i32::from_le_bytes(element(bytes, at)).into(),
        DType::U32 => |bytes, at| u32::from_le_bytes(element(bytes, at)).into(),
        DType::S64 => |bytes, at| i64::from_le_bytes(element(bytes, at)),
        DType::U64 => {
            |bytes, at| i64::try_from(u64::from_le_bytes(element(bytes, at))).unwrap_or(i64::MAX)
        }
        _ => return None,
    })
}

fn element<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut element = [0; N];
    element.copy_from_slice(&bytes[at * N..(at + 1) * N]);
    element
}

/// `clamp(0, start, room)`, where `room` is the extent less the size of the slice.
pub fn clamped(start: i64, room: usize) -> usize {
    usize::try_from(start).map_or(0, |start| start.min(room))
}

/// One component of an index vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Number of starts at which the window is inside.
    pub starts: usize,
    /// From one start to the next in the array.
    pub step: usize,
}

/// Index vectors along one axis, in elements of the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vectors {
    /// The first vector's first component.
    pub first: usize,
    /// From one vector to the next.
    pub step: usize,
    /// From one component to the next.
    pub between: usize,
}

/// What becomes of a window that is not wholly inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// It is moved inside. There is at least one start.
    Clamp,
    /// It is skipped.
    Skip,
}

/// The place of a window that is skipped.
pub const NOWHERE: usize = usize::MAX;

/// Computes where windows lie, one for each vector: window `i` at `base[0] + i·base[1]` and what
/// its components add, or [`NOWHERE`].
pub type Placer = fn(
    indices: &[u8],
    vectors: Vectors,
    components: &[Component],
    base: [usize; 2],
    places: &mut [usize],
);

/// How places are computed from indices of a type; `None` for a type that is no integer.
pub fn placer(dtype: DType, outside: Outside) -> Option<Placer> {
    Some(match dtype {
        DType::S1 | DType::S2 | DType::S4 | DType::S8 => of::<i8>(outside),
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => of::<u8>(outside),
        DType::S16 => of::<i16>(outside),
        DType::U16 => of::<u16>(outside),
        DType::S32 => of::<i32>(outside),
        DType::U32 => of::<u32>(outside),
        DType::S64 => of::<i64>(outside),
        DType::U64 => of::<u64>(outside),
        _ => return None,
    })
}

fn of<I: Index>(outside: Outside) -> Placer {
    match outside {
        Outside::Clamp => places::<I, true>,
        Outside::Skip => places::<I, false>,
    }
}

/// An integer as a start.
trait Index: bytemuck::Pod {
    /// Zero for a negative one.
    fn clamped(self) -> u64;
    /// More than any array has for a negative one.
    fn exact(self) -> u64;
}

macro_rules! index {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl Index for $signed {
            #[inline(always)]
            fn clamped(self) -> u64 {
                i64::from(self.max(0)).cast_unsigned()
            }
            #[inline(always)]
            fn exact(self) -> u64 {
                i64::from(self).cast_unsigned()
            }
        }

        impl Index for $unsigned {
            #[inline(always)]
            fn clamped(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn exact(self) -> u64 {
                self.into()
            }
        }
    )*};
}

index! { i8, u8; i16, u16; i32, u32; i64, u64; }

struct Places<'a, I, const CLAMP: bool> {
    indices: &'a [I],
    vectors: Vectors,
    components: &'a [Component],
    base: [usize; 2],
    places: &'a mut [usize],
}

impl<I: Index, const CLAMP: bool> Places<'_, I, CLAMP> {
    /// The place with one more component.
    #[inline(always)]
    fn moved(place: usize, index: I, starts: u64, step: u64) -> usize {
        if CLAMP {
            let start = index.clamped().min(starts.wrapping_sub(1));
            return place.wrapping_add(to_usize(start.wrapping_mul(step)));
        }
        let start = index.exact();
        let moved = place.wrapping_add(to_usize(start.wrapping_mul(step)));
        if start < starts && place != NOWHERE { moved } else { NOWHERE }
    }
}

impl<I: Index, const CLAMP: bool> simd::Loop for Places<'_, I, CLAMP> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { indices, vectors, components, base, places } = self;
        for (number, place) in places.iter_mut().enumerate() {
            *place = base[0] + number * base[1];
        }
        for (number, component) in components.iter().enumerate() {
            let first = vectors.first + number * vectors.between;
            // An array has fewer elements than 2⁶⁴.
            let [starts, step] =
                [component.starts, component.step].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
            if vectors.step == 1 {
                let indices = &indices[first..first + places.len()];
                for (place, &index) in places.iter_mut().zip(indices) {
                    *place = Self::moved(*place, index, starts, step);
                }
            } else {
                for (number, place) in places.iter_mut().enumerate() {
                    let index = indices[first + number * vectors.step];
                    *place = Self::moved(*place, index, starts, step);
                }
            }
        }
    }
}

fn places<I: Index, const CLAMP: bool>(
    indices: &[u8],
    vectors: Vectors,
    components: &[Component],
    base: [usize; 2],
    places: &mut [usize],
) {
    let indices = bytemuck::cast_slice(indices);
    simd::run(Places::<I, CLAMP> { indices, vectors, components, base, places });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_for_every_width_of_vectors() {
        let indices: Vec<i32> = (0..200).map(|at| at * 37 % 23 - 4).collect();
        let components = [Component { starts: 9, step: 100 }, Component { starts: 12, step: 3 }];
        for (step, between) in [(1, 100), (2, 1), (0, 1)] {
            let vectors = Vectors { first: 0, step, between };
            let at = |number: usize, component: usize| -> i64 {
                indices[number * step + component * between].into()
            };
            let clamp = |number: usize| {
                7 + 2 * number + clamped(at(number, 0), 8) * 100 + clamped(at(number, 1), 11) * 3
            };
            let inside =
                |number: usize| (0..9).contains(&at(number, 0)) && (0..12).contains(&at(number, 1));
            let skip = |number| if inside(number) { clamp(number) } else { NOWHERE };
            simd::at_every_level(|level| {
                for outside in [Outside::Clamp, Outside::Skip] {
                    let mut places = [5; 100];
                    let placer = placer(DType::S32, outside).unwrap();
                    let bytes = bytemuck::cast_slice(&indices);
                    placer(bytes, vectors, &components, [7, 2], &mut places);
                    let expected: Vec<usize> = match outside {
                        Outside::Clamp => (0..100).map(clamp).collect(),
                        Outside::Skip => (0..100).map(skip).collect(),
                    };
                    assert_eq!(places[..], expected, "{outside:?} {vectors:?} {level:?}");
                }
            });
        }
    }

    #[test]
    fn the_largest_index_is_outside() {
        let component = [Component { starts: 4, step: 8 }];
        let vectors = Vectors { first: 0, step: 1, between: 0 };
        for (index, clamped) in [(u64::MAX, 24), (1 << 63, 24), (3, 24), (0, 0)] {
            let words = [index];
            let bytes = bytemuck::cast_slice(&words);
            let mut places = [0; 1];
            let [clamp, skip] =
                [Outside::Clamp, Outside::Skip].map(|outside| placer(DType::U64, outside).unwrap());
            clamp(bytes, vectors, &component, [0, 0], &mut places);
            assert_eq!(places, [clamped]);
            skip(bytes, vectors, &component, [0, 0], &mut places);
            assert_eq!(places, [if index < 4 { clamped } else { NOWHERE }]);
        }
        assert!(placer(DType::F32, Outside::Skip).is_none());
    }

    #[test]
    fn integers_of_every_width_are_read_with_their_sign() {
        let read = |dtype, bytes: &[u8]| reader(dtype).map(|read| read(bytes, 1));
        assert_eq!(read(DType::S8, &[0, 0xff]), Some(-1));
        assert_eq!(read(DType::U8, &[0, 0xff]), Some(255));
        assert_eq!(read(DType::S16, &[0, 0, 0xfe, 0xff]), Some(-2));
        assert_eq!(read(DType::U32, &[0, 0, 0, 0, 0, 0, 0, 0x80]), Some(1 << 31));
        assert_eq!(read(DType::U64, &[0xff; 16]), Some(i64::MAX));
        assert_eq!(read(DType::S64, &[0xff; 16]), Some(-1));
        assert_eq!(read(DType::F32, &[0; 8]), None);
    }

    #[test]
    fn starts_are_clamped_on_both_sides() {
        assert_eq!([-5, 0, 3, 9].map(|start| clamped(start, 4)), [0, 0, 3, 4]);
    }
}
