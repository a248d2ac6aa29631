//! A program as bytes that outlive the process: what it was compiled from, and for what. Nothing
//! compiled is inside, because compiling is cheap and a plan belongs to one build.
use super::Format;
use tpu_base::error::{Error, Result};
use tpu_base::units::to_usize;

/// The first bytes of every serialized program, of whatever version.
const MAGIC: &[u8] = b"tpu-emu program\n";
/// Raised when the fields behind it change.
const FORMAT_VERSION: u32 = 1;
/// The build that writes, and the only one that reads.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The parts of a serialized program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serialized<'a> {
    /// The kind of device that it was compiled for.
    pub device_kind: &'a str,
    /// The options it was compiled with, in the words of the door that had them.
    pub options: &'a [u8],
    /// What `code` is.
    pub format: Format,
    /// The program.
    pub code: &'a [u8],
}

impl<'a> Serialized<'a> {
    /// The bytes, with a checksum at their end.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.code.len() + self.options.len() + 128);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let format = [number(self.format)];
        let fields =
            [BUILD.as_bytes(), self.device_kind.as_bytes(), self.options, &format, self.code];
        for field in fields {
            let size = u64::try_from(field.len()).unwrap_or(u64::MAX);
            out.extend_from_slice(&size.to_le_bytes());
            out.extend_from_slice(field);
        }
        let checksum = checksum(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads what [`Serialized::write`] of the same build wrote.
    ///
    /// # Errors
    /// `BadArgument` for anything else, with both versions where they differ.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let size = bytes.len();
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            let what = "that are no program serialized by tpu-emu; another library's?";
            return Err(Error::bad(format!("{size} bytes {what}")));
        };
        let cut_off =
            || Error::bad(format!("a serialized program that is cut off after {size} bytes"));
        let (version, _) = rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
        let version = u32::from_le_bytes(*version);
        if version != FORMAT_VERSION {
            return Err(Error::bad(format!(
                "a serialized program of format {version}; this is tpu-emu {BUILD}, which reads \
                 format {FORMAT_VERSION}"
            )));
        }
        let (body, end) = bytes.split_last_chunk::<8>().ok_or_else(cut_off)?;
        let (said, found) = (u64::from_le_bytes(*end), checksum(body));
        if said != found {
            return Err(Error::bad(format!(
                "a serialized program of {size} bytes is damaged: its checksum is {found:016x}, \
                 and {said:016x} was written"
            )));
        }
        let mut fields = SerializedFields(body.get(MAGIC.len() + 4..).ok_or_else(cut_off)?);
        let build = fields.text()?;
        if build != BUILD {
            return Err(Error::bad(format!(
                "a program serialized by tpu-emu {build}; this is tpu-emu {BUILD}"
            )));
        }
        let read = Self {
            device_kind: fields.text()?,
            options: fields.bytes()?,
            format: fields.format()?,
            code: fields.bytes()?,
        };
        match fields.0.len() {
            0 => Ok(read),
            more => Err(Error::bad(format!("{more} bytes behind a serialized program"))),
        }
    }
}

/// What is left of the fields, each behind its size.
struct SerializedFields<'a>(&'a [u8]);

impl<'a> SerializedFields<'a> {
    fn bytes(&mut self) -> Result<&'a [u8]> {
        let left = self.0.len();
        let cut_off = || Error::bad(format!("a field of a serialized program in {left} bytes"));
        let (size, rest) = self.0.split_first_chunk::<8>().ok_or_else(cut_off)?;
        let size = u64::from_le_bytes(*size);
        let fits = u64::try_from(rest.len()).is_ok_and(|left| size <= left);
        let (field, rest) =
            fits.then(|| rest.split_at_checked(to_usize(size))).flatten().ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(field)
    }

    fn text(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        str::from_utf8(bytes)
            .map_err(|error| Error::bad(format!("a text of a serialized program: {error}")))
    }

    fn format(&mut self) -> Result<Format> {
        match self.bytes()? {
            [1] => Ok(Format::Mlir),
            [2] => Ok(Format::Hlo),
            [3] => Ok(Format::HloWithConfig),
            other => Err(Error::bad(format!("{other:?} is no format of a serialized program"))),
        }
    }
}

fn number(format: Format) -> u8 {
    match format {
        Format::Mlir => 1,
        Format::Hlo => 2,
        Format::HloWithConfig => 3,
    }
}

/// FNV-1a: each step is one to one, so no change of a single byte goes unseen.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Serialized<'static> = Serialized {
        device_kind: "TPU v5 lite",
        options: b"\x28\x01",
        format: Format::Mlir,
        code: b"ML\xefR\x0d",
    };

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Serialized::read(&PROGRAM.write()), Ok(PROGRAM));
        let bare = Serialized { options: b"", code: b"", device_kind: "", ..PROGRAM };
        assert_eq!(Serialized::read(&bare.write()), Ok(bare));
    }

    #[test]
    fn every_cut_and_every_changed_bit_is_refused() {
        let bytes = PROGRAM.write();
        for size in 0..bytes.len() {
            assert!(Serialized::read(&bytes[..size]).is_err(), "cut at {size}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Serialized::read(&damaged).is_err(), "bit {bit}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(Serialized::read(&longer).is_err());
    }

    fn refusal(bytes: &[u8]) -> String {
        Serialized::read(bytes).unwrap_err().to_string()
    }

    /// `write`, with other bytes in the place of some, and a checksum that fits.
    fn rewritten(at: usize, with: &[u8]) -> Vec<u8> {
        let mut bytes = PROGRAM.write();
        bytes.truncate(bytes.len() - 8);
        bytes[at..at + with.len()].copy_from_slice(with);
        let sum = checksum(&bytes);
        [&bytes[..], &sum.to_le_bytes()].concat()
    }

    #[test]
    fn another_version_is_refused_by_the_names_of_both() {
        let text = refusal(&rewritten(MAGIC.len(), &7_u32.to_le_bytes()));
        assert!(text.contains("of format 7") && text.contains("reads format 1"), "{text}");
        let text = refusal(&rewritten(MAGIC.len() + 4 + 8, b"9"));
        let other = format!("9{}", &BUILD[1..]);
        assert!(text.contains(&other) && text.ends_with(BUILD), "{text}");
    }

    #[test]
    fn a_size_past_the_end_is_refused_though_the_checksum_fits() {
        let text = refusal(&rewritten(MAGIC.len() + 4, &u64::MAX.to_le_bytes()));
        assert!(text.starts_with("a field of a serialized program in "), "{text}");
    }

    #[test]
    fn another_librarys_bytes_are_refused_as_such() {
        let text = refusal(b"HloModule");
        assert!(text.starts_with("9 bytes that are no program"), "{text}");
    }
}
