//! Files, lines and inlined functions of an ELF file that has DWARF.
//!
//! Of the units of a file those are read that are hit, and of what they say a few numbers are kept.
use super::elf::Image;
use super::entry::Bytes;
use super::functions::{Functions, Inlined, inlined};
use super::mapped_file::Part;
use super::rows::{LineRows, SourceRow};
use super::units::Units;
use gimli::{
    AttributeValue, DebugInfoOffset, Dwarf, FileEntry, LineProgramHeader, LittleEndian, Result,
    SectionId, Unit, UnitOffset, UnitRef,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Entries that are followed for one name.
const NAME_ENTRIES: usize = 16;

/// The lines of one file.
pub(super) struct Lines {
    dwarf: Dwarf<Bytes>,
    units: Units,
    /// The units that were hit, by where they begin.
    hit: Mutex<HashMap<u32, Arc<HitUnit>>>,
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

/// A unit with code that was asked for, or with names that such code has.
struct HitUnit {
    unit: Unit<Bytes>,
    functions: OnceLock<Result<Functions>>,
    rows: OnceLock<Result<Option<LineRows>>>,
}

impl Lines {
    /// Those of `image`; `None` without DWARF.
    pub(super) fn of(image: &Image) -> Option<Self> {
        image.section(SectionId::DebugLine.name())?;
        let mut sections = Vec::new();
        let load = |id: SectionId| {
            let section = image.section(id.name()).unwrap_or_default();
            sections.push(section);
            Ok::<_, gimli::Error>(Bytes::new(section.bytes(), LittleEndian))
        };
        let dwarf = Dwarf::load(load).ok()?;
        let units = Units::of(&dwarf).ok()?;
        Some(Self { dwarf, units, hit: Mutex::default(), sections })
    }

    /// Takes what was looked at out of memory.
    pub(super) fn let_go(&self) {
        self.hit.lock().clear();
        self.sections.iter().for_each(|section| section.let_go());
    }

    /// What is at `address`, an address of the file, innermost first.
    pub(super) fn at(&self, address: u64) -> Vec<SourceLine> {
        let of_unit = |unit| self.at_in(&*self.unit(unit)?, address);
        let found = self.units.at(address).map(of_unit);
        // What is damaged has no lines.
        found
            .take_while(Result::is_ok)
            .flatten()
            .find(|lines| !lines.is_empty())
            .unwrap_or_default()
    }

    fn at_in(&self, unit: &HitUnit, address: u64) -> Result<Vec<SourceLine>> {
        let function = unit.functions(&self.dwarf)?.at(address);
        let row = unit.row(address)?;
        let place = |file: Option<u64>, line| {
            let file = file.and_then(|file| unit.file(&self.dwarf, file)).unwrap_or_default();
            SourceLine { function: Vec::new(), file, line }
        };
        let mut here = row
            .map_or_else(SourceLine::default, |SourceRow { file, line }| place(Some(file), line));
        let Some(function) = function else {
            return Ok(row.map(|_| here).into_iter().collect());
        };
        let of_unit = unit.unit.unit_ref(&self.dwarf);
        let mut lines = Vec::new();
        for Inlined { entry, file, line } in inlined(of_unit, function, address)?.into_iter().rev()
        {
            here.function = self.name(of_unit, entry)?;
            lines.push(std::mem::replace(&mut here, place(file, line)));
        }
        here.function = self.name(of_unit, function)?;
        lines.push(here);
        Ok(lines)
    }

    /// The name of an entry, empty where it has none: its own, or that of the entry that it refers
    /// to. The linker's name before the programmer's.
    fn name(&self, unit: UnitRef<'_, Bytes>, entry: UnitOffset) -> Result<Vec<u8>> {
        let (mut held, mut entry) = (None::<Arc<HitUnit>>, entry);
        for _ in 0..NAME_ENTRIES {
            let unit = held.as_ref().map_or(unit, |held| held.unit.unit_ref(&self.dwarf));
            let mut entries = unit.entries_raw(Some(entry))?;
            let Some(kind) = entries.read_abbreviation()? else { break };
            let (mut name, mut next) = (None, None);
            for &attribute in kind.attributes() {
                let attribute = entries.read_attribute(attribute)?;
                match attribute.name() {
                    gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                        if let Ok(name) = unit.attr_string(attribute.value()) {
                            return Ok(name.to_vec());
                        }
                    }
                    gimli::DW_AT_name => name = unit.attr_string(attribute.value()).ok(),
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                        next = Some(attribute.value())
                    }
                    _ => {}
                }
            }
            if let Some(name) = name {
                return Ok(name.to_vec());
            }
            match next {
                Some(AttributeValue::UnitRef(other)) => entry = other,
                Some(AttributeValue::DebugInfoRef(other)) => {
                    let Some(holder) = self.units.holder(other) else { break };
                    let holder = self.unit(holder)?;
                    let Some(other) = other.to_unit_offset(&holder.unit.header) else { break };
                    (held, entry) = (Some(holder), other);
                }
                _ => break,
            }
        }
        Ok(Vec::new())
    }

    /// The unit that begins at `offset`, read by the first who asks.
    fn unit(&self, offset: u32) -> Result<Arc<HitUnit>> {
        let mut hit = self.hit.lock();
        if let Some(known) = hit.get(&offset) {
            return Ok(Arc::clone(known));
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(offset as usize))?;
        let unit = self.dwarf.unit(header)?;
        let unit = HitUnit { unit, functions: OnceLock::new(), rows: OnceLock::new() };
        let unit = Arc::new(unit);
        hit.insert(offset, Arc::clone(&unit));
        Ok(unit)
    }
}

impl HitUnit {
    fn functions(&self, dwarf: &Dwarf<Bytes>) -> Result<&Functions> {
        let functions = self.functions.get_or_init(|| Functions::of(self.unit.unit_ref(dwarf)));
        functions.as_ref().map_err(|why| *why)
    }

    fn header(&self) -> Option<&LineProgramHeader<Bytes>> {
        self.unit.line_program.as_ref().map(|program| program.header())
    }

    fn row(&self, address: u64) -> Result<Option<SourceRow>> {
        let rows = self.rows.get_or_init(|| self.header().map(LineRows::of).transpose());
        let rows = rows.as_ref().map_err(|why| *why)?;
        Ok(rows.as_ref().zip(self.header()).and_then(|(rows, header)| rows.at(header, address)))
    }

    /// The path of a file, by its number in the table of lines.
    fn file(&self, dwarf: &Dwarf<Bytes>, number: u64) -> Option<String> {
        let header = self.header()?;
        let file: &FileEntry<Bytes> = header.file(number)?;
        let text = |value| Some(dwarf.attr_string(&self.unit, value).ok()?.to_string_lossy());
        let mut path = self
            .unit
            .comp_dir
            .map_or_else(String::new, |folder| folder.to_string_lossy().into_owned());
        // Folder 0 is that of the unit.
        if file.directory_index() != 0
            && let Some(folder) = file.directory(header)
        {
            push(&mut path, &text(folder)?);
        }
        push(&mut path, &text(file.path_name())?);
        Some(path)
    }
}

/// Appends a path; one that begins at the root stands alone.
fn push(path: &mut String, end: &str) {
    if end.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(end);
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Addresses of a file that are compared.
    const COMPARED: usize = 3000;

    /// What is compiled by those of the two compilers that are here; one of C always is.
    const SOURCES: [(&str, &str, &[&str]); 2] =
        [("c", C_SOURCE, &["cc", "gcc", "clang"]), ("cpp", CPP_SOURCE, &["g++", "clang++", "c++"])];

    const C_SOURCE: &str = "
static inline int twice(int x) { return x + x; }
static inline int more(int x) { int s = 0; for (int i = 0; i < x; i++) s ^= twice(i) * x; return s; }
__attribute__((noinline)) static int apart(int x) { return more(x) / 3; }
int c_entry(int x) { return x > 9 ? apart(more(x)) : more(twice(x)) + more(x + 1); }
";

    const CPP_SOURCE: &str = "
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace outer { namespace {
template <typename T> struct Table {
    std::map<std::string, std::vector<T>> rows;
    T sum(const std::string &name) const {
        auto found = rows.find(name);
        T all{};
        if (found == rows.end()) throw name;
        for (const auto &each : found->second) all += each;
        return all;
    }
    struct Nested { static T most(const std::vector<T> &of) {
        return *std::max_element(of.begin(), of.end(), [](T a, T b) { return a < b; });
    } };
};
} }
int cpp_entry(int count) {
    outer::Table<int> table;
    struct Local { int operator()(int x) const { return x * 7; } } local;
    for (int i = 0; i < count; i++) table.rows[std::to_string(i)].push_back(local(i));
    std::vector<int> all;
    for (const auto &row : table.rows) all.push_back(table.sum(row.first));
    std::sort(all.begin(), all.end(), [](int a, int b) { return a > b; });
    return outer::Table<int>::Nested::most(all);
}
";

    #[test]
    fn an_address_outside_the_code_has_no_line() {
        let image = Image::open(&std::env::current_exe().unwrap(), &[]).unwrap();
        assert!(Lines::of(&image).is_some());
        assert!(!image.has_code_at(0));
    }

    /// What the crate says that reads all units at once.
    fn of_reference(context: &addr2line::Context<Bytes>, address: u64) -> Vec<SourceLine> {
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let place = frame.location.as_ref();
            lines.push(SourceLine {
                function: name.map_or_else(Vec::new, |name| name.as_bytes().to_vec()),
                file: place.and_then(|place| place.file).unwrap_or_default().to_owned(),
                line: place.and_then(|place| place.line).unwrap_or(0),
            });
        }
        lines
    }

    /// Compares many addresses of a file; gives how many have lines, and how many inlined calls.
    fn compare(path: &Path) -> (usize, usize) {
        let image = Image::open(path, &[]).unwrap();
        let lines = Lines::of(&image).unwrap();
        let load = |id: SectionId| {
            let section = image.section(id.name()).unwrap_or_default();
            Ok::<_, gimli::Error>(Bytes::new(section.bytes(), LittleEndian))
        };
        let context = addr2line::Context::from_dwarf(Dwarf::load(load).unwrap()).unwrap();
        let (text, start) = image.code_section(".text").unwrap();
        let step = (text / COMPARED).max(1) | 1;
        let (mut known, mut calls) = (0, 0);
        for address in (start..start + text as u64).step_by(step) {
            let (ours, theirs) = (lines.at(address), of_reference(&context, address));
            assert_eq!(ours, theirs, "{}: {address:#x}", path.display());
            known += usize::from(!ours.is_empty());
            calls += ours.len().saturating_sub(1);
            if address % 64 == 0 {
                lines.let_go();
            }
        }
        (known, calls)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test takes its files from outside")]
    fn what_is_hit_says_what_the_whole_file_says() {
        let own = std::env::current_exe().unwrap();
        let others = std::env::var("TPU_EMU_TEST_LIBRARIES").unwrap_or_default();
        let others = others.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
        for path in others.chain([own]) {
            let (known, calls) = compare(&path);
            assert!(known > 100 && calls > 100, "{}: {known}, {calls}", path.display());
        }
    }

    #[test]
    fn libraries_of_c_and_of_cpp_have_the_lines_that_the_whole_file_has() {
        let folder = std::env::temp_dir().join(format!("tpu-emu-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut compiled = 0_usize;
        for (end, source, compilers) in SOURCES {
            let from = folder.join(format!("source.{end}"));
            std::fs::write(&from, source).unwrap();
            for flags in [&["-gdwarf-5"][..], &["-gdwarf-4", "-ffunction-sections"]] {
                let to = folder.join(format!("library-{compiled}.so"));
                let compile = |compiler: &&str| {
                    let mut command = Command::new(compiler);
                    command.args(["-O2", "-shared", "-fPIC"]).args(flags).arg("-o");
                    command.arg(&to).arg(&from).status().is_ok_and(|status| status.success())
                };
                if compilers.iter().any(compile) {
                    let (known, calls) = compare(&to);
                    assert!(known > 20 && calls > 20, "{end} {flags:?}: {known}, {calls}");
                    compiled += 1;
                }
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(compiled > 0, "no compiler");
    }
}
