//! The windows that an operation's attributes describe.
use super::Site;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::window::geometry::WindowAxis;

/// Labels of the constraints on the attributes of windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels {
    /// Number of window extents, and that they are positive.
    pub(super) sizes: [&'static str; 2],
    /// Number of strides, and that they are positive.
    pub(super) strides: [&'static str; 2],
    /// Number of the input's dilations, and that they are positive.
    pub(super) bases: [&'static str; 2],
    /// Number of the window's dilations, and that they are positive.
    pub(super) dilations: [&'static str; 2],
    /// The shape of the padding.
    pub(super) padding: &'static str,
}

/// The windows over an array of this shape, with their number along each axis.
///
/// # Errors
/// `Constraint` for attributes of another length, and numbers that are not positive.
pub(super) fn windows(site: &Site<'_>, shape: &Shape, labels: &Labels) -> Result<Vec<WindowAxis>> {
    let rank = shape.rank();
    let positive = |name: &'static str, [length, sign]: [&'static str; 2]| {
        let given = match site.attributes.get(name) {
            Some(_) => site.integers(name)?,
            None => vec![1; rank],
        };
        if given.len() != rank {
            return Err(site.violates(length, format!("{name} {given:?} for {shape}")));
        }
        let convert = |&value: &i64| usize::try_from(value).ok().filter(|&value| value > 0);
        let converted: Option<Vec<usize>> = given.iter().map(convert).collect();
        converted.ok_or_else(|| site.violates(sign, format!("{name} {given:?}")))
    };
    let sizes = positive("window_dimensions", labels.sizes)?;
    let strides = positive("window_strides", labels.strides)?;
    let bases = positive("base_dilations", labels.bases)?;
    let dilations = positive("window_dilations", labels.dilations)?;
    let padding = match site.attributes.get("padding") {
        Some(_) => site.integers("padding")?,
        None => vec![0; 2 * rank],
    };
    let (pairs, rest) = padding.as_chunks::<2>();
    if pairs.len() != rank || !rest.is_empty() {
        let what = format!("padding {padding:?} for {shape}");
        return Err(site.violates(labels.padding, what));
    }
    let axis = |index: usize| {
        let [low, high] = pairs[index];
        let axis = WindowAxis {
            input: shape.dims[index],
            output: 0,
            size: sizes[index],
            stride: strides[index],
            dilation: dilations[index],
            base: bases[index],
            low,
            high,
        };
        let output = axis.windows().ok_or_else(|| {
            site.unimplemented(format!("windows of {sizes:?}, padding {padding:?}"))
        })?;
        Ok(WindowAxis { output, ..axis })
    };
    (0..rank).map(axis).collect()
}
