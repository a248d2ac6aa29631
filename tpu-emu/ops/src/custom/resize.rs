//! Custom calls that scale images, as TensorFlow asks for them: `ResizeNearest`, `ResizeBilinear`,
//! and their derivatives `ResizeNearestGrad` and `ResizeBilinearGrad`.
//!
//! Shapes: `images [b, h, w, c]`; result `[b, h', w', c]`. The derivatives go the other way.
//! Errors: `BadArgument` for shapes and configurations that do not fit; `Unimplemented` for
//! elements other than `f32` where elements are added.
//! Source: TensorFlow, `ResizeBilinear`, `ResizeNearestNeighbor` and their gradients.
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use num_traits::ToPrimitive;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};

/// The targets.
pub(super) const TARGETS: &[Entry] = &[
    Entry::target("ResizeNearest", infer, nearest),
    Entry::target("ResizeBilinear", infer, bilinear),
    Entry::target("ResizeNearestGrad", infer, nearest_grad),
    Entry::target("ResizeBilinearGrad", infer, bilinear_grad),
];

/// One axis of the small and the scaled image.
#[derive(Debug, Clone, Copy)]
struct ResizeAxis {
    from: usize,
    to: usize,
    aligned: bool,
    half: bool,
}

/// Two places, and how far between them.
#[derive(Debug, Clone, Copy)]
struct Between {
    low: usize,
    high: usize,
    part: f32,
}

fn float(number: usize) -> f32 {
    number.to_f32().unwrap_or(f32::MAX)
}

impl ResizeAxis {
    fn scale(self) -> f32 {
        if self.aligned && self.to > 1 {
            return float(self.from.saturating_sub(1)) / float(self.to - 1);
        }
        float(self.from) / float(self.to)
    }

    /// Not beyond the last place.
    fn place(self, position: f32) -> usize {
        position.max(0.0).to_usize().unwrap_or(0).min(self.from.saturating_sub(1))
    }

    fn between(self, at: usize) -> Between {
        let position = match self.half {
            true => (float(at) + 0.5) * self.scale() - 0.5,
            false => float(at) * self.scale(),
        };
        let (low, high) = (self.place(position.floor()), self.place(position.ceil()));
        Between { low, high, part: position - position.floor() }
    }

    fn nearest(self, at: usize) -> usize {
        let offset = if self.half { 0.5 } else { 0.0 };
        let position = (float(at) + offset) * self.scale();
        self.place(if self.aligned { position.round() } else { position.floor() })
    }
}

/// The declared result, which has the operand's batch and channels.
fn declared<'s>(site: &'s Site<'_>) -> Result<(&'s Shape, Shape)> {
    let [from] = site.exactly()?;
    let to = site.declared(0)?.clone();
    let fits = from.rank() == 4
        && to.rank() == 4
        && (from.dims[0], from.dims[3]) == (to.dims[0], to.dims[3])
        && (to.dims.contains(&0) || !from.dims.contains(&0));
    match fits {
        true => Ok((from, to)),
        false => Err(Error::bad(format!("{}: {from} is not scaled to {to}", site.name))),
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(vec![declared(site)?.1])
}

/// What is done at a pixel of the scaled image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Bytes of the nearest pixel.
    Copy,
    Mix,
    AddNearest,
    AddMixed,
}

/// `small` and `large` are the images before and after the scaling that is meant.
#[derive(Debug)]
struct Resize {
    mode: Mode,
    batch: usize,
    rows: ResizeAxis,
    columns: ResizeAxis,
    channels: usize,
    width: usize,
}

fn lower_as(site: &Site<'_>, mode: Mode) -> Result<Lowered> {
    let (from, to) = declared(site)?;
    let single = [from.dtype, to.dtype] == [DType::F32; 2];
    if from.dtype != to.dtype || (mode != Mode::Copy && !single) {
        return Err(site.unimplemented(format!("{from} scaled to {to}")));
    }
    let text = site.attributes.text("backend_config").unwrap_or_default();
    let (aligned, half) = match text.trim_matches('"') {
        "00" => (false, false),
        "01" => (false, true),
        "10" => (true, false),
        other => {
            return Err(Error::bad(format!("{}: the configuration {other:?}", site.name)));
        }
    };
    let (small, large) = match mode {
        Mode::Copy | Mode::Mix => (from, &to),
        Mode::AddNearest | Mode::AddMixed => (&to, from),
    };
    let axis =
        |axis: usize| ResizeAxis { from: small.dims[axis], to: large.dims[axis], aligned, half };
    Ok(Lowered::Kernel(Box::new(Resize {
        mode,
        batch: from.dims[0],
        rows: axis(1),
        columns: axis(2),
        channels: from.dims[3],
        width: from.dtype.host_bytes(),
    })))
}

fn nearest(site: &Site<'_>) -> Result<Lowered> {
    lower_as(site, Mode::Copy)
}

fn bilinear(site: &Site<'_>) -> Result<Lowered> {
    lower_as(site, Mode::Mix)
}

fn nearest_grad(site: &Site<'_>) -> Result<Lowered> {
    lower_as(site, Mode::AddNearest)
}

fn bilinear_grad(site: &Site<'_>) -> Result<Lowered> {
    lower_as(site, Mode::AddMixed)
}

fn get(bytes: &[u8], at: usize) -> f32 {
    let (values, _) = bytes.as_chunks::<4>();
    f32::from_le_bytes(values[at])
}

fn set(bytes: &mut [u8], at: usize, value: f32) {
    let (values, _) = bytes.as_chunks_mut::<4>();
    values[at] = value.to_le_bytes();
}

impl Resize {
    /// The first channel of a pixel of the small image.
    fn small(&self, image: usize, row: usize, column: usize) -> usize {
        ((image * self.rows.from + row) * self.columns.from + column) * self.channels
    }

    fn pixel(&self, [image, row, column]: [usize; 3], large: usize, from: &[u8], to: &mut [u8]) {
        if let Mode::Copy | Mode::AddNearest = self.mode {
            let near = self.small(image, self.rows.nearest(row), self.columns.nearest(column));
            if self.mode == Mode::Copy {
                let [near, large, bytes] = [near, large, self.channels].map(|at| at * self.width);
                to[large..large + bytes].copy_from_slice(&from[near..near + bytes]);
                return;
            }
            for channel in 0..self.channels {
                let sum = get(to, near + channel) + get(from, large + channel);
                set(to, near + channel, sum);
            }
            return;
        }
        let (y, x) = (self.rows.between(row), self.columns.between(column));
        let corners = [(y.low, x.low), (y.low, x.high), (y.high, x.low), (y.high, x.high)];
        let corners = corners.map(|(row, column)| self.small(image, row, column));
        for channel in 0..self.channels {
            if self.mode == Mode::Mix {
                let [a, b, c, d] = corners.map(|at| get(from, at + channel));
                let (top, bottom) = (a + (b - a) * x.part, c + (d - c) * x.part);
                set(to, large + channel, top + (bottom - top) * y.part);
                continue;
            }
            let value = get(from, large + channel);
            let (up, left) = (1.0 - y.part, 1.0 - x.part);
            let parts = [up * left, up * x.part, y.part * left, y.part * x.part];
            for (at, part) in corners.into_iter().zip(parts) {
                let sum = get(to, at + channel) + value * part;
                set(to, at + channel, sum);
            }
        }
    }
}

impl Kernel for Resize {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[from], [to]) = (operands, results) else {
            return Err(Error::bad("an image is scaled to one image"));
        };
        to.fill(0);
        if from.is_empty() || to.is_empty() {
            return Ok(());
        }
        let mut large = 0;
        for image in 0..self.batch {
            for row in 0..self.rows.to {
                for column in 0..self.columns.to {
                    self.pixel([image, row, column], large, from, to);
                    large += self.channels;
                }
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let pixels = self.batch as f64 * self.rows.to as f64 * self.columns.to as f64;
        Cost { flops: 8.0 * pixels * self.channels as f64, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use tpu_stablehlo::ir::{Attribute, Attributes};

    fn scaled(target: &str, config: &str, from: TestValue, to: [usize; 4]) -> Result<Vec<f32>> {
        let mut attributes = Attributes::default();
        attributes.set("backend_config", Attribute::string(config));
        let entry = TARGETS.iter().find(|entry| entry.mnemonic == target).unwrap();
        let declared = [Shape::new(DType::F32, to)];
        Ok(Case::new(entry.mnemonic)
            .attributes(&attributes.0)
            .given(&[from])
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(entry)?[0]
            .elements())
    }

    /// A row of pixels.
    fn row(values: &[f32]) -> TestValue {
        TestValue::of(DType::F32, &[1, 1, values.len(), 1], values)
    }

    #[test]
    fn each_configuration_has_its_own_places() {
        let four = |target, config| scaled(target, config, row(&[0.0, 4.0]), [1, 1, 4, 1]).unwrap();
        // Wanted values by hand.
        assert_eq!(four("ResizeBilinear", "\"00\""), [0.0, 2.0, 4.0, 4.0]);
        assert_eq!(four("ResizeBilinear", "\"01\""), [0.0, 1.0, 3.0, 4.0]);
        let aligned = four("ResizeBilinear", "\"10\"");
        for (found, wanted) in aligned.iter().zip([0.0, 4.0 / 3.0, 8.0 / 3.0, 4.0]) {
            assert!((found - wanted).abs() < 1e-6, "{aligned:?}");
        }
        for config in ["00", "01", "10"] {
            assert_eq!(four("ResizeNearest", config), [0.0, 0.0, 4.0, 4.0], "{config}");
        }
    }

    #[test]
    fn a_derivative_is_the_transpose() {
        for (forward, back) in
            [("ResizeBilinear", "ResizeBilinearGrad"), ("ResizeNearest", "ResizeNearestGrad")]
        {
            for config in ["00", "01", "10"] {
                let unit = |count: usize, at: usize| {
                    let values: Vec<f32> =
                        (0..count).map(|i| if i == at { 1.0 } else { 0.0 }).collect();
                    row(&values)
                };
                for small in 0..3 {
                    let there = scaled(forward, config, unit(3, small), [1, 1, 5, 1]).unwrap();
                    for (large, there) in there.iter().enumerate() {
                        let back = scaled(back, config, unit(5, large), [1, 1, 3, 1]).unwrap();
                        assert!((back[small] - there).abs() < 1e-6, "{forward} {config}");
                    }
                }
            }
        }
    }

    #[test]
    fn channels_and_images_stay_apart() {
        let values: Vec<f32> = (0_u8..16).map(f32::from).collect();
        let from = TestValue::of(DType::F32, &[2, 2, 2, 2], &values);
        let got = scaled("ResizeBilinear", "01", from, [2, 1, 1, 2]).unwrap();
        assert_eq!(got, [3.0, 4.0, 11.0, 12.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |config, to| scaled("ResizeBilinear", config, row(&[1.0]), to).unwrap_err();
        assert!(refused("11", [1, 1, 2, 1]).to_string().contains("the configuration \"11\""));
        assert!(refused("01", [1, 1, 2, 3]).to_string().contains("is not scaled to f32[1,1,2,3]"));
        let empty = TestValue::of::<f32>(DType::F32, &[1, 1, 0, 1], &[]);
        assert!(scaled("ResizeNearest", "00", empty, [1, 1, 2, 1]).is_err());
        let whole = TestValue::of(DType::S32, &[1, 1, 1, 1], &[1_i32]);
        let error = scaled("ResizeBilinear", "01", whole, [1, 1, 2, 1]).unwrap_err();
        assert!(error.to_string().contains("s32[1,1,1,1] scaled to f32[1,1,2,1]"), "{error}");
    }
}
