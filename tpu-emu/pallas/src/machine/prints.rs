//! What kernels print.
use super::Machine;
use super::instance::Instance;
use super::memory::Place;
use super::view::View;
use crate::form::{Log, Logged};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;

impl Machine<'_> {
    /// Prints a line, or one for each value.
    pub(super) fn print(&self, instance: &Instance, log: &Log) -> Result<(), String> {
        let mut texts = Vec::with_capacity(log.values.len());
        for value in &log.values {
            texts.push(match value {
                Logged::Scalar(int, dtype) => {
                    (header(*dtype, &[]), number(*dtype, &instance.int(*int).to_le_bytes()))
                }
                Logged::Slot(slot, shape) => {
                    (header(shape.dtype, &shape.dims), array(shape, instance.slot(*slot).bytes()))
                }
                Logged::View(view, dims) => {
                    let view = instance.view(*view)?;
                    let view = view.slice(&vec![0; dims.len()], dims, None)?;
                    (header(view.dtype, dims), self.read_array(&view))
                }
            });
        }
        if log.formatted {
            let mut text = log.tag.to_string();
            for (number, (_, value)) in texts.iter().enumerate().rev() {
                text = text.replace(&format!("${number}"), value);
            }
            (self.outside.prints)(&text);
        } else if texts.is_empty() {
            (self.outside.prints)(&log.tag);
        }
        if !log.formatted {
            for (header, value) in texts {
                (self.outside.prints)(&format!("{} {header} {value}", log.tag.trim_end()));
            }
        }
        Ok(())
    }

    fn read_array(&self, view: &View) -> String {
        let mut bytes = Aligned::zeros(view.bytes());
        view.read(&self.bank, Place::of_mut(bytes.bytes_mut()));
        array(&Shape::new(view.dtype, view.dims()), bytes.bytes())
    }
}

fn header(dtype: DType, dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("{}[{}]", dtype.name(), dims.join(","))
}

/// Numbers in row-major order between braces.
fn array(shape: &Shape, bytes: &[u8]) -> String {
    if shape.rank() == 0 {
        return number(shape.dtype, bytes);
    }
    let size = shape.dtype.host_bytes();
    let mut text = String::new();
    for (at, element) in bytes.chunks_exact(size).enumerate() {
        let opened = opened(&shape.dims, at);
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&"{".repeat(opened));
        text.push_str(&number(shape.dtype, element));
        let next = if at + 1 == shape.elements() {
            shape.rank()
        } else {
            self::opened(&shape.dims, at + 1)
        };
        text.push_str(&"}".repeat(next));
    }
    text
}

/// How many dimensions begin with an element.
fn opened(dims: &[usize], at: usize) -> usize {
    let mut size = 1;
    let mut count = 0;
    for &dim in dims.iter().rev() {
        size *= dim;
        if size == 0 || !at.is_multiple_of(size) {
            break;
        }
        count += 1;
    }
    count
}

fn number(dtype: DType, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    let size = dtype.host_bytes().min(8);
    wide[..size].copy_from_slice(&bytes[..size]);
    let bits = u64::from_le_bytes(wide);
    let of = dtype.element();
    let low = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or(0);
    match dtype {
        DType::F32 => f32::from_bits(low(bits)).to_string(),
        DType::Bf16 => f32::from_bits(low(bits) << 16).to_string(),
        DType::F64 => f64::from_bits(bits).to_string(),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::U4 | DType::U2 => {
            bits.to_string()
        }
        _ => super::scalar::wrap(of.bits * of.parts, bits.cast_signed()).to_string(),
    }
}
