//! Extents and strides of convolutions, and the order of their windows.
use super::side::Axis;

/// Spatial axes that are followed without memory of their own.
pub(super) const AXES: usize = 8;

/// One spatial axis.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Extent and stride in the input.
    pub input: Axis,
    /// Extent and stride in the kernel.
    pub kernel: Axis,
    /// Extent and stride in the result.
    pub output: Axis,
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
#[derive(Debug)]
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
