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
            let values: Vec<&str> = texts.iter().map(|(_, value)| value.as_str()).collect();
            (self.outside.prints)(&filled(&log.tag, &values));
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

/// A text with its values in their places: `$0`, or since JAX 0.12 `$s0` for an integer with a
/// sign, `$u0` for one without, `$f0` for a float.
fn filled(tag: &str, values: &[&str]) -> String {
    let mut parts = tag.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix(['s', 'u', 'f']).unwrap_or(part);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let value = rest[..digits].parse().ok().and_then(|at: usize| values.get(at));
        let Some(value) = value else {
            text.push('$');
            text.push_str(part);
            continue;
        };
        match value.parse::<i32>() {
            Ok(number) if part.starts_with('u') => {
                text.push_str(&number.cast_unsigned().to_string());
            }
            _ => text.push_str(value),
        }
        text.push_str(&rest[digits..]);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn values_stand_where_the_text_names_them() {
        let values = ["-1", "2", "0.5"];
        assert_eq!(filled("a $0 b $1$2.", &values), "a -1 b 20.5.");
        assert_eq!(filled("$s0 $u0 $u1 $f2", &values), "-1 4294967295 2 0.5");
        assert_eq!(filled("$1 costs 3$, $s, $9 and $u", &values), "2 costs 3$, $s, $9 and $u");
        let many: Vec<&str> = [values, values, values, values].concat();
        assert_eq!(filled("$11$1", &many), "0.52");
        assert_eq!(filled("", &[]), "");
    }
}
