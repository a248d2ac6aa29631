//! Extents and strides of convolutions, and the order of their windows.
use crate::matmul::operand::ExtentStride;

/// Spatial axes that are followed without memory of their own.
pub(super) const AXES: usize = 8;

/// One spatial axis.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Extent and stride in the input.
    pub input: ExtentStride,
    /// Extent and stride in the kernel.
    pub kernel: ExtentStride,
    /// Extent and stride in the result.
    pub output: ExtentStride,
    /// From one window to the next.
    pub step: usize,
    /// Padding before the input; negative to leave input out.
    pub low: i64,
    /// Distance of the input's elements.
    pub base_dilation: usize,
    /// Distance of the elements under the kernel.
    pub dilation: usize,
    /// Whether the kernel runs backwards.
    pub reversed: bool,
}

impl Window {
    /// The index in the input under kernel element `at` of window `window`; `None` for padding.
    pub(super) fn locate(&self, window: usize, at: usize) -> Option<usize> {
        self.found((window * self.step + at * self.dilation).cast_signed() as i64 - self.low)
    }

    /// The index in the input at a place of the padded and dilated input.
    #[inline(always)]
    pub(super) fn found(&self, place: i64) -> Option<usize> {
        let mut place = usize::try_from(place).ok()?;
        if self.base_dilation > 1 {
            if !place.is_multiple_of(self.base_dilation) {
                return None;
            }
            place /= self.base_dilation;
        }
        (place < self.input.0).then_some(place)
    }
}

/// Extents and strides of a convolution.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Spatial axes.
    pub windows: Vec<Window>,
    /// Groups of features, or of batches.
    pub groups: usize,
    /// Elements from one group to the next in the input, the kernel and the result.
    pub group_strides: [usize; 3],
    /// Images of the result; strides in the input and in the result.
    pub batch: (usize, [usize; 2]),
    /// Input features of a group; strides in the input and in the kernel.
    pub input_features: (usize, [usize; 2]),
    /// Output features of a group; strides in the kernel and in the result.
    pub output_features: (usize, [usize; 2]),
    /// Elements of the input and of the kernel.
    pub elements: [usize; 2],
}

/// In which order windows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Image by image.
    Images,
    /// Place by place: images beside each other in memory stay so.
    Places,
}

impl Geometry {
    /// The order in which neighbours lie beside each other.
    pub fn order(&self) -> Order {
        let beside = self.batch.0 > 1 && self.batch.1[0] == 1;
        if beside { Order::Places } else { Order::Images }
    }

    /// The image of a window, and its places along the spatial axes.
    pub fn split(&self, mut window: usize, places: &mut [usize]) -> usize {
        let images = self.batch.0.max(1);
        let mut image = 0;
        let order = self.order();
        if order == Order::Places {
            (image, window) = (window % images, window / images);
        }
        for (place, axis) in places.iter_mut().zip(&self.windows).rev() {
            (*place, window) = (window % axis.output.0.max(1), window / axis.output.0.max(1));
        }
        if order == Order::Places { image } else { window }
    }

    /// Where the result of a window begins.
    pub fn target(&self, window: usize) -> usize {
        let mut room = [0; AXES];
        let mut more = Vec::new();
        let places = place_room(&mut room, &mut more, self.windows.len());
        let image = self.split(window, places);
        let at = self.windows.iter().zip(&*places).map(|(axis, place)| axis.output.1 * place);
        image * self.batch.1[1] + at.sum::<usize>()
    }
}

/// Room for a number an axis.
pub(super) fn place_room<'a>(
    room: &'a mut [usize; AXES],
    more: &'a mut Vec<usize>,
    axes: usize,
) -> &'a mut [usize] {
    if axes <= AXES {
        &mut room[..axes]
    } else {
        more.resize(axes, 0);
        more
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two images of 5 by 6 places and 3 features, under windows of 2 by 3 places that are 1 and 2
    /// apart, with padding before the second axis. `strides` are those of images, features and
    /// places in the input.
    pub(crate) fn geometry(image: usize, feature: usize, places: [usize; 2]) -> Geometry {
        let window = |extents: [usize; 3], stride: usize, step: usize, low: i64| Window {
            input: (extents[0], stride),
            kernel: (extents[1], 3),
            output: (extents[2], 4 * step),
            step,
            low,
            base_dilation: 1,
            dilation: 1,
            reversed: false,
        };
        Geometry {
            windows: vec![window([5, 2, 4], places[0], 1, 0), window([6, 3, 3], places[1], 2, 1)],
            groups: 1,
            group_strides: [0; 3],
            batch: (2, [image, 100]),
            input_features: (3, [feature, 1]),
            output_features: (4, [1, 1]),
            elements: [180, 72],
        }
    }

    #[test]
    fn padding_and_gaps_hold_no_element() {
        let mut window = geometry(90, 1, [18, 3]).windows[1];
        assert_eq!([0, 1, 2, 3].map(|at| window.locate(0, at)), [None, Some(0), Some(1), Some(2)]);
        assert_eq!([0, 1, 2].map(|at| window.locate(2, at)), [Some(3), Some(4), Some(5)]);
        assert_eq!(window.locate(3, 1), None);
        window.base_dilation = 2;
        assert_eq!([0, 1, 2, 3].map(|at| window.locate(0, at)), [None, Some(0), None, Some(1)]);
        window.low = -3;
        assert_eq!([0, 1, 2, 3].map(|at| window.locate(0, at)), [None, Some(2), None, Some(3)]);
        assert_eq!(window.found(i64::MIN), None);
    }

    #[test]
    fn windows_are_numbered_along_what_lies_beside_each_other() {
        let apart = geometry(90, 1, [18, 3]);
        assert_eq!(apart.order(), Order::Images);
        let mut places = [9; 2];
        assert_eq!((apart.split(12 + 3 + 2, &mut places), places), (1, [1, 2]));
        assert_eq!(apart.target(12 + 3 + 2), 100 + 4 + 2 * 8);
        let beside = geometry(1, 2, [36, 6]);
        assert_eq!(beside.order(), Order::Places);
        assert_eq!((beside.split(2 * 5 + 1, &mut places), places), (1, [1, 2]));
        assert_eq!(beside.target(2 * 5 + 1), 100 + 4 + 2 * 8);
    }

    #[test]
    fn many_axes_have_room_too() {
        let (mut room, mut more) = ([0; AXES], Vec::new());
        assert_eq!(place_room(&mut room, &mut more, 3).len(), 3);
        assert_eq!(place_room(&mut room, &mut more, AXES + 2).len(), AXES + 2);
    }
}
