//! Files, lines and inlined functions of an ELF file that has DWARF.
use super::elf::Image;
use super::mapped_file::Part;
use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use parking_lot::Mutex;
use std::fmt;

type Reader = EndianSlice<'static, LittleEndian>;

/// The lines of one file.
pub(super) struct Lines {
    context: Mutex<Context<Reader>>,
    sections: Vec<Part>,
}

/// A function at an address: one, or several where some were inlined.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SourceLine {
    /// As the compiler names it, empty where unknown.
    pub(super) function: Vec<u8>,
    /// Empty where unknown.
    pub(super) file: String,
    /// 0 where unknown.
    pub(super) line: u32,
}

impl Lines {
    /// Those of `image`; `None` without DWARF.
    pub(super) fn of(image: &Image) -> Option<Self> {
        image.section(SectionId::DebugLine.name())?;
        let mut sections = Vec::new();
        let load = |id: SectionId| {
            let section = image.section(id.name()).unwrap_or_default();
            sections.push(section);
            Ok::<_, gimli::Error>(Reader::new(section.bytes(), LittleEndian))
        };
        let dwarf = Dwarf::load(load).ok()?;
        let context = Mutex::new(Context::from_dwarf(dwarf).ok()?);
        Some(Self { context, sections })
    }

    /// Takes what was looked at out of memory.
    pub(super) fn let_go(&self) {
        self.sections.iter().for_each(|section| section.let_go());
    }

    /// What is at `address`, an address of the file, innermost first.
    pub(super) fn at(&self, address: u64) -> Vec<SourceLine> {
        let context = self.context.lock();
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let place = frame.location.unwrap_or(NOWHERE);
            lines.push(SourceLine {
                function: name.map_or_else(Vec::new, |name| name.as_bytes().to_vec()),
                file: place.file.unwrap_or_default().to_owned(),
                line: place.line.unwrap_or(0),
            });
        }
        lines
    }
}

const NOWHERE: addr2line::Location<'static> =
    addr2line::Location { file: None, line: None, column: None };

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_outside_the_code_has_no_line() {
        let image = Image::open(&std::env::current_exe().unwrap(), &[]).unwrap();
        assert!(Lines::of(&image).is_some());
        assert!(!image.has_code_at(0));
    }
}
