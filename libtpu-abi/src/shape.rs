//! `XLA_Shape` as a value of ours, and back.
use crate::abi::Abi;
use crate::layout::CLayout;
use crate::memory::{At, given};
use tpu_emu::hbm::spec::{ArraySpec, LayoutRequest, Specs};
use tpu_emu::tensor::DType;
use tpu_emu::{Error, Result};
use tpu_proto::xla::PrimitiveType;

/// Levels of tuples in tuples, at most.
pub(crate) const DEEPEST: usize = 64;
/// Arrays and tuples of one shape, or of all shapes of a program, at most.
pub(crate) const MOST: usize = 1 << 20;

/// A shape as the interface passes it: an array, a token, or a tuple of shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// `PrimitiveType` of XLA.
    pub(crate) element_type: i32,
    /// Extents, major first; of a dynamic dimension the largest.
    pub(crate) dims: Vec<i64>,
    /// Whether each dimension is dynamic; as long as `dims`, or empty for none.
    pub(crate) dynamic: Vec<bool>,
    /// What a tuple holds.
    pub(crate) tuple: Vec<Shape>,
    /// Order and tiles, where the client says.
    pub(crate) layout: Option<CLayout>,
}

impl Shape {
    /// An array with the machine's layout.
    ///
    /// # Errors
    /// `Unimplemented` for a type that XLA's messages do not know.
    pub(crate) fn of(spec: &ArraySpec) -> Result<Self> {
        let dims = spec.dims.iter().map(|dim| dim.cast_signed()).collect();
        let layout = Some(CLayout::of(&spec.layout));
        Ok(Self { layout, ..Self::array(number(spec.dtype)?, dims) })
    }

    /// An array without a layout.
    pub(crate) fn array(element_type: i32, dims: Vec<i64>) -> Self {
        Self { element_type, dims, dynamic: Vec::new(), tuple: Vec::new(), layout: None }
    }

    /// A tuple.
    pub(crate) fn tuple(parts: Vec<Self>) -> Self {
        Self { tuple: parts, ..Self::array(PrimitiveType::Tuple as i32, Vec::new()) }
    }

    /// Whether it is a tuple.
    pub(crate) fn is_tuple(&self) -> bool {
        self.element_type == PrimitiveType::Tuple as i32
    }

    /// Whether some dimension is dynamic.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.dynamic.iter().any(|&dynamic| dynamic) || self.tuple.iter().any(Self::is_dynamic)
    }

    /// `f32[2,<=3]`, `(s32[],token[])`: without layouts.
    pub(crate) fn text(&self) -> String {
        if self.is_tuple() {
            let parts: Vec<String> = self.tuple.iter().map(Self::text).collect();
            return format!("({})", parts.join(","));
        }
        let sign = |axis| if self.dynamic.get(axis) == Some(&true) { "<=" } else { "" };
        let dims = self.dims.iter().enumerate();
        let dims: Vec<String> = dims.map(|(axis, dim)| format!("{}{dim}", sign(axis))).collect();
        let name = match self.dtype() {
            Ok(dtype) => dtype.name().to_owned(),
            Err(_) => format!("type {}", self.element_type),
        };
        format!("{name}[{}]", dims.join(","))
    }

    /// The nodes, each before what it holds, from the left: as shape trees count them.
    pub(crate) fn nodes(&self) -> Vec<&Self> {
        let inner = self.tuple.iter().flat_map(Self::nodes);
        std::iter::once(self).chain(inner).collect()
    }

    /// The arrays and tokens, from the left.
    pub(crate) fn leaves(&self) -> Vec<&Self> {
        self.nodes().into_iter().filter(|node| !node.is_tuple()).collect()
    }

    /// The element type.
    ///
    /// # Errors
    /// `BadArgument` for a tuple and for numbers that are no type of arrays.
    pub(crate) fn dtype(&self) -> Result<DType> {
        dtype(self.element_type)
    }

    /// The machine's description of this array: with its own layout if the client says none or
    /// only an order, else with the client's.
    ///
    /// # Errors
    /// `BadArgument` for a tuple, negative dimensions, a layout that does not fit.
    pub(crate) fn spec(&self, specs: &Specs) -> Result<std::sync::Arc<ArraySpec>> {
        let dims = tpu_emu::hbm::spec::extents(self.dtype()?, &self.dims)?;
        let request = match &self.layout {
            None => LayoutRequest::Default,
            Some(layout) if layout.tiles.is_empty() => LayoutRequest::Order(layout.order()?),
            Some(layout) => LayoutRequest::Tiled(layout.tiled(self.dtype()?)?),
        };
        specs.intern(self.dtype()?, &dims, request)
    }

    /// Reads a client's shape.
    ///
    /// # Errors
    /// `Null`, and `BadArgument` for counts and depths that no shape has.
    pub(crate) fn read(abi: &Abi, at: At<'_>) -> Result<Self> {
        Self::read_within(abi, at, &mut { MOST })
    }

    /// Reads one of several shapes: `left` counts down what they may have in all.
    pub(crate) fn read_within(abi: &Abi, at: At<'_>, left: &mut usize) -> Result<Self> {
        Self::read_level(abi, at, 0, left)
    }

    fn read_level(abi: &Abi, at: At<'_>, depth: usize, left: &mut usize) -> Result<Self> {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| Error::bad(format!("more than {MOST} arrays and tuples in a shape")))?;
        let fields = &abi.fields.shape;
        let element_type: i32 = at.read(fields.element_type);
        if element_type == PrimitiveType::Tuple as i32 {
            if depth == DEEPEST {
                return Err(Error::bad(format!("more than {DEEPEST} levels of tuples in a shape")));
            }
            let count: i32 = at.read(fields.ntuple_shapes);
            let count = crate::memory::count_of(count.into(), "parts of a tuple")?;
            if count == 0 {
                return Ok(Self::tuple(Vec::new()));
            }
            let parts = at.follow(fields.tuple_shapes, "tuple_shapes")?;
            let part = |index: usize| {
                Self::read_level(abi, parts.inner(index * fields.size), depth + 1, left)
            };
            return Ok(Self::tuple((0..count).map(part).collect::<Result<_>>()?));
        }
        let dims: Vec<i64> = at.list(fields.dimensions, "dimensions")?;
        tpu_emu::hbm::spec::check_rank(dims.len())?;
        let dynamic: Vec<u8> = at.list(fields.dynamic_dimensions, "dynamic_dimensions")?;
        let mut dynamic: Vec<bool> = dynamic.into_iter().map(|byte| byte != 0).collect();
        if !dynamic.iter().any(|&dynamic| dynamic) {
            dynamic.clear();
        }
        let is_array = dtype(element_type).is_ok();
        // Without the member that says so, an order for every axis is a layout.
        let has_layout = match fields.has_layout {
            Some(offset) => at.read_bool(offset),
            None => {
                let order = abi.fields.layout.minor_to_major;
                let order = at.inner(fields.layout).list::<i64>(order, "minor_to_major")?;
                !dims.is_empty() && order.len() == dims.len()
            }
        };
        let layout = if has_layout && is_array {
            let layout = CLayout::read(abi, at.inner(fields.layout))?;
            (layout.minor_to_major.len() == dims.len()).then_some(layout)
        } else {
            None
        };
        Ok(Self { layout, dynamic, ..Self::array(element_type, dims) })
    }

    /// Writes the shape to a struct of the client's, which frees what hangs on it.
    pub(crate) fn write(&self, abi: &Abi, at: At<'_>) {
        let fields = &abi.fields.shape;
        at.clear(fields.size);
        at.write(fields.element_type, self.element_type);
        at.write_list(fields.dimensions, &self.dims);
        // One flag a dimension, as XLA has them.
        let mut dynamic: Vec<u8> = self.dynamic.iter().map(|&dynamic| dynamic.into()).collect();
        dynamic.resize(self.dims.len(), 0);
        at.write_list(fields.dynamic_dimensions, &dynamic);
        if !self.tuple.is_empty() {
            let parts = given(self.tuple.len(), fields.size);
            at.write(fields.tuple_shapes, parts.address());
            at.write(fields.ntuple_shapes, i32::try_from(self.tuple.len()).unwrap_or(0));
            for (index, part) in self.tuple.iter().enumerate() {
                part.write(abi, parts.inner(index * fields.size));
            }
        }
        let layout = at.inner(fields.layout);
        if let Some(has_layout) = fields.has_layout {
            at.write(has_layout, u8::from(self.layout.is_some()));
        }
        match &self.layout {
            Some(own) => own.write(abi, layout),
            None => CLayout::row_major(0).write(abi, layout),
        }
    }
}

/// XLA's number of an element type.
///
/// # Errors
/// `Unimplemented` for the types that its messages do not know.
pub(crate) fn number(dtype: DType) -> Result<i32> {
    let found = TYPES.iter().find(|(_, of)| *of == dtype);
    let found = found.map(|&(number, _)| number as i32);
    found.ok_or_else(|| Error::Unimplemented(format!("{} in a message of XLA", dtype.name())))
}

/// The element type with XLA's number.
///
/// # Errors
/// `BadArgument` for a number that is no type of arrays.
pub(crate) fn dtype(number: i32) -> Result<DType> {
    let found = TYPES.iter().find(|&&(of, _)| of as i32 == number);
    found
        .map(|&(_, dtype)| dtype)
        .ok_or_else(|| Error::bad(format!("an array of the element type with the number {number}")))
}

const TYPES: &[(PrimitiveType, DType)] = &[
    (PrimitiveType::Pred, DType::Pred),
    (PrimitiveType::S1, DType::S1),
    (PrimitiveType::S2, DType::S2),
    (PrimitiveType::S4, DType::S4),
    (PrimitiveType::S8, DType::S8),
    (PrimitiveType::S16, DType::S16),
    (PrimitiveType::S32, DType::S32),
    (PrimitiveType::S64, DType::S64),
    (PrimitiveType::U1, DType::U1),
    (PrimitiveType::U2, DType::U2),
    (PrimitiveType::U4, DType::U4),
    (PrimitiveType::U8, DType::U8),
    (PrimitiveType::U16, DType::U16),
    (PrimitiveType::U32, DType::U32),
    (PrimitiveType::U64, DType::U64),
    (PrimitiveType::F16, DType::F16),
    (PrimitiveType::F32, DType::F32),
    (PrimitiveType::F64, DType::F64),
    (PrimitiveType::Bf16, DType::Bf16),
    (PrimitiveType::C64, DType::C64),
    (PrimitiveType::C128, DType::C128),
    (PrimitiveType::F8e5m2, DType::F8E5M2),
    (PrimitiveType::F8e4m3, DType::F8E4M3),
    (PrimitiveType::F8e4m3fn, DType::F8E4M3FN),
    (PrimitiveType::F8e4m3b11fnuz, DType::F8E4M3B11FNUZ),
    (PrimitiveType::F8e5m2fnuz, DType::F8E5M2FNUZ),
    (PrimitiveType::F8e4m3fnuz, DType::F8E4M3FNUZ),
    (PrimitiveType::F8e3m4, DType::F8E3M4),
    (PrimitiveType::F8e8m0fnu, DType::F8E8M0FNU),
    (PrimitiveType::F4e2m1fn, DType::F4E2M1FN),
    (PrimitiveType::Token, DType::Token),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{ROWS, list_count};
    use crate::client::CShape;

    const F32: i32 = PrimitiveType::F32 as i32;

    /// The shape as the dialect can say it.
    fn said(abi: &Abi, shape: &Shape) -> Shape {
        let mut said = shape.clone();
        said.tuple = said.tuple.iter().map(|part| self::said(abi, part)).collect();
        let fields = &abi.fields;
        if let Some(layout) = &mut said.layout {
            if fields.layout.element_size_in_bits.is_none() {
                layout.element_bits = 0;
            }
            if fields.layout.dynamic_shape_metadata_prefix_bytes.is_none() {
                layout.prefix_bytes = 0;
            }
        }
        if fields.shape.has_layout.is_none() && said.dims.is_empty() {
            said.layout = None;
        }
        said
    }

    fn layout(order: &[i64], tiles: &[&[i64]]) -> Option<CLayout> {
        let tiles = tiles.iter().map(|tile| tile.to_vec()).collect();
        Some(CLayout { minor_to_major: order.to_vec(), tiles, ..CLayout::row_major(0) })
    }

    #[test]
    fn what_is_written_is_read_again_in_every_dialect() {
        let nine: Vec<i64> = (1..10).collect();
        let order: Vec<i64> = (0..9).rev().collect();
        let many: Vec<&[i64]> = vec![&nine; 8];
        let packed = Some(CLayout {
            element_bits: 4,
            memory_space: 5,
            prefix_bytes: 512,
            ..layout(&[0, 1], &[&[8, 128], &[4, 1]]).unwrap()
        });
        let scalar = Shape { layout: layout(&[], &[&[256]]), ..Shape::array(F32, Vec::new()) };
        let token = Shape::array(PrimitiveType::Token as i32, Vec::new());
        let flat = Shape { layout: packed, ..Shape::array(PrimitiveType::S4 as i32, vec![2, 3]) };
        let long = Shape {
            layout: layout(&order, &many),
            dynamic: nine.iter().map(|dim| dim % 2 == 0).collect(),
            ..Shape::array(F32, nine.clone())
        };
        let plain = Shape::array(F32, vec![7]);
        let inner = Shape::tuple(vec![long.clone(), Shape::tuple(Vec::new()), token.clone()]);
        let outer = Shape::tuple(vec![plain.clone(), inner.clone(), flat.clone()]);
        for abi in ROWS {
            for shape in [&scalar, &token, &flat, &long, &plain, &inner, &outer] {
                let read = CShape::of(abi, shape).take();
                assert_eq!(read, said(abi, shape), "{}", abi.name);
            }
        }
    }

    #[test]
    fn counts_that_no_shape_has_are_refused() {
        for abi in ROWS {
            let fields = &abi.fields.shape;
            let counts = [fields.dimensions + list_count(8), fields.dynamic_dimensions + 8];
            for offset in counts {
                for count in [-1, i64::MAX, i64::MIN, 1 << 40] {
                    let mut shape = CShape::of(abi, &Shape::array(F32, vec![2]));
                    let at = shape.at();
                    let was: i64 = at.read(offset);
                    at.write(offset, count);
                    let refused = Shape::read(abi, at).unwrap_err().to_string();
                    assert!(refused.contains(&count.to_string()), "{refused}");
                    shape.at().write(offset, was);
                }
            }
            let tuple = Shape::tuple(vec![Shape::array(F32, Vec::new())]);
            for count in [-1, i32::MIN, i32::MAX] {
                let mut shape = CShape::of(abi, &tuple);
                shape.at().write(fields.ntuple_shapes, count);
                assert!(Shape::read(abi, shape.at()).is_err());
                shape.at().write(fields.ntuple_shapes, 1_i32);
            }
        }
    }

    #[test]
    fn a_tuple_in_itself_ends() {
        let abi = crate::client::dialect();
        let mut shape = CShape::of(abi, &Shape::tuple(vec![Shape::array(F32, Vec::new())]));
        let (own, fields) = (shape.pointer::<u8>(), &abi.fields.shape);
        let parts: *mut u8 = shape.at().read(fields.tuple_shapes);
        shape.at().write(fields.tuple_shapes, own);
        let refused = Shape::read(abi, shape.at()).unwrap_err().to_string();
        assert_eq!(refused, "more than 64 levels of tuples in a shape");
        shape.at().write(fields.tuple_shapes, parts);
    }

    #[test]
    fn a_tuple_whose_parts_are_one_and_the_same_ends() {
        let abi = crate::client::dialect();
        let pair = || Shape::tuple(vec![Shape::tuple(Vec::new()), Shape::tuple(Vec::new())]);
        // The levels share their parts' memory: 2^62 nodes in 62 pairs.
        let mut levels: Vec<_> = (0..62).map(|_| CShape::of(abi, &pair())).collect();
        let fields = &abi.fields.shape;
        let size = fields.size;
        fn parts<'a>(abi: &Abi, shape: &'a mut CShape) -> At<'a> {
            shape.at().follow(abi.fields.shape.tuple_shapes, "parts").unwrap()
        }
        let places: Vec<*mut u8> =
            levels.iter_mut().map(|level| parts(abi, level).address()).collect();
        for (level, &next) in levels.iter_mut().zip(&places[1..]) {
            let inner = parts(abi, level);
            for part in [inner, inner.inner(size)] {
                part.write(fields.ntuple_shapes, 2_i32);
                part.write(fields.tuple_shapes, next);
            }
        }
        let refused = Shape::read(abi, levels[0].at()).unwrap_err().to_string();
        assert_eq!(refused, "more than 1048576 arrays and tuples in a shape");
        for level in &mut levels {
            let inner = parts(abi, level);
            for part in [inner, inner.inner(size)] {
                part.write(fields.ntuple_shapes, 0_i32);
            }
        }
    }

    #[test]
    fn the_text_shows_types_and_extents() {
        let dynamic = Shape { dynamic: vec![false, true], ..Shape::array(F32, vec![2, 3]) };
        let opaque = Shape::array(PrimitiveType::OpaqueType as i32, Vec::new());
        assert_eq!(Shape::tuple(vec![dynamic, opaque]).text(), "(f32[2,<=3],type 14[])");
    }
}
