//! The symbols of an ELF file: an index in memory, the rest left in the file.
use super::mapped_file::Part;
use object::LittleEndian as Le;
use object::elf::{
    EM_X86_64, FileHeader64, SHF_COMPRESSED, SHF_EXECINSTR, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB,
    STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, SectionHeader64, SectionType, Sym64,
};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a section at most.
const MAX_SECTION: u64 = 1 << 29;

/// Symbols that are looked at for one that reaches over others.
const NESTING: usize = 16;

/// Symbols of a stretch of code in the mean, were all symbols code.
const SYMBOLS_IN_STRETCH: usize = 16;

/// Symbols that are in memory at once while all are read: 1.5 MiB.
const SCANNED: usize = 1 << 16;

/// An ELF file and where its symbols are.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    sections: Vec<SectionHeader64<Le>>,
    section_names: Vec<u8>,
    /// `.symtab`, then `.dynsym`.
    tables: Vec<SymbolTable>,
}

/// The symbols of a file that are code, by the stretch of code in which they begin.
#[derive(Debug)]
struct SymbolTable {
    /// What the stretches begin at.
    base: u64,
    /// Bits of an address within its stretch.
    shift: u32,
    /// Where the numbers of each stretch begin, and at last where they end.
    starts: Vec<u32>,
    /// The symbols' numbers in the file's table.
    numbers: Vec<u32>,
    /// The file's table.
    symbols: &'static [Sym64<Le>],
    names: &'static [u8],
    /// Both, to let them go.
    parts: [Part; 2],
}

impl Image {
    /// Opens the file at `path` if it holds the bytes of `identity` at their offsets.
    pub(super) fn open(path: &Path, identity: &[(u64, Vec<u8>)]) -> Option<Self> {
        let file = File::open(path).ok()?;
        for (offset, expected) in identity {
            let found = read(&file, *offset, expected.len() as u64)?;
            if found != *expected {
                return None;
            }
        }
        let bytes = read(&file, 0, size_of::<FileHeader64<Le>>() as u64)?;
        let (header, _) = object::pod::from_bytes::<FileHeader64<Le>>(&bytes).ok()?;
        if header.e_machine.get(Le) != EM_X86_64 && cfg!(target_arch = "x86_64") {
            return None;
        }
        let count = header.e_shnum.get(Le);
        let size = u64::from(count) * size_of::<SectionHeader64<Le>>() as u64;
        let bytes = read(&file, header.e_shoff.get(Le), size)?;
        let (sections, _) = object::pod::slice_from_bytes(&bytes, count.into()).ok()?;
        let sections: Vec<SectionHeader64<Le>> = sections.to_vec();
        let names = sections.get(usize::from(header.e_shstrndx.get(Le).0))?;
        let section_names = read(&file, names.sh_offset.get(Le), names.sh_size.get(Le))?;
        let mut image = Self { file, sections, section_names, tables: Vec::new() };
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            image.tables.extend(image.table(kind));
        }
        Some(image)
    }

    /// The name of the function that holds `address`, an address of the file.
    pub(super) fn function_at(&self, address: u64) -> Option<Vec<u8>> {
        self.tables.iter().find_map(|table| table.name(address, || self.code_end(address)))
    }

    /// Whether a code section holds `address`. Debug information also speaks of code that the
    /// linker left out, as if it began at 0.
    pub(super) fn has_code_at(&self, address: u64) -> bool {
        self.code_end(address).is_some()
    }

    /// Takes what was looked at out of memory.
    pub(super) fn let_go(&self) {
        self.tables.iter().flat_map(|table| table.parts).for_each(Part::let_go);
    }

    /// The content of a section, `None` where it is missing, compressed or huge.
    pub(super) fn section(&self, name: &str) -> Option<Part> {
        let section = self.header(name)?;
        let flags = section.sh_flags.get(Le);
        if flags.0 & SHF_COMPRESSED.0 != 0 || section.sh_type.get(Le) == SHT_NOBITS {
            return None;
        }
        part(&self.file, section)
    }

    fn header(&self, name: &str) -> Option<&SectionHeader64<Le>> {
        self.sections.iter().find(|section| {
            let at = section.sh_name.get(Le) as usize;
            let rest = self.section_names.get(at..).unwrap_or_default();
            rest.split(|&byte| byte == 0).next() == Some(name.as_bytes())
        })
    }

    /// How many bytes a section of code has, and where it begins.
    #[cfg(test)]
    pub(super) fn code_section(&self, name: &str) -> Option<(usize, u64)> {
        let section = self.header(name)?;
        Some((usize::try_from(section.sh_size.get(Le)).ok()?, section.sh_addr.get(Le)))
    }

    /// The end of the code section that holds `address`.
    fn code_end(&self, address: u64) -> Option<u64> {
        self.code().filter(|range| range.contains(&address)).map(|range| range.end).next()
    }

    /// The addresses of the code sections.
    fn code(&self) -> impl Iterator<Item = Range<u64>> + Clone {
        let code = |s: &&SectionHeader64<Le>| s.sh_flags.get(Le).0 & SHF_EXECINSTR.0 != 0;
        self.sections.iter().filter(code).map(|section| {
            let start = section.sh_addr.get(Le);
            start..start.saturating_add(section.sh_size.get(Le))
        })
    }

    fn table(&self, kind: SectionType) -> Option<SymbolTable> {
        let section = self.sections.iter().find(|s| s.sh_type.get(Le) == kind)?;
        let names = self.sections.get(section.sh_link.get(Le) as usize)?;
        let is_code: Vec<bool> = self
            .sections
            .iter()
            .map(|section| section.sh_flags.get(Le).0 & SHF_EXECINSTR.0 != 0)
            .collect();
        let is_code = |s: &Sym64<Le>| {
            is_code.get(usize::from(s.st_shndx.get(Le).0)) == Some(&true)
                && matches!(s.st_type(), STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE)
        };
        let code = self.code();
        let start = code.clone().map(|code| code.start).min()?;
        let end = code.map(|code| code.end).max()?;
        let parts = [part(&self.file, section)?, part(&self.file, names)?];
        let [symbols, names] = parts.map(Part::bytes);
        let count = symbols.len() / size_of::<Sym64<Le>>();
        let (symbols, _) = object::pod::slice_from_bytes(symbols, count).ok()?;
        Some(SymbolTable::new(symbols, names, parts, start..end, is_code))
    }
}

impl SymbolTable {
    /// The index of those symbols that are code, which lies in `range`.
    ///
    /// A library of 350 MB has 740,000 of them. They are read twice and not sorted: who asks looks
    /// at the few of one stretch.
    fn new(
        symbols: &'static [Sym64<Le>],
        names: &'static [u8],
        parts: [Part; 2],
        range: Range<u64>,
        is_code: impl Fn(&Sym64<Le>) -> bool,
    ) -> Self {
        let (base, length) = (range.start, range.end.saturating_sub(range.start));
        let stretches = (symbols.len() / SYMBOLS_IN_STRETCH).max(1) as u64;
        let shift = (length / stretches).max(1).ilog2() + 1;
        let stretch = |symbol: &Sym64<Le>| {
            let from_base = symbol.st_value.get(Le).checked_sub(base)?;
            let stretch = usize::try_from(from_base >> shift).ok()?;
            (from_base < length && is_code(symbol)).then_some(stretch)
        };
        let mut starts = vec![0; usize::try_from(length >> shift).unwrap_or(0) + 2];
        let each = |each: &mut dyn FnMut(usize, u32)| {
            let numbers = 0_u32..;
            for (chunk, numbered) in symbols.chunks(SCANNED).zip(numbers.step_by(SCANNED)) {
                for (symbol, number) in chunk.iter().zip(numbered..) {
                    stretch(symbol).into_iter().for_each(|stretch| each(stretch, number));
                }
                parts[0].let_go();
            }
        };
        each(&mut |stretch, _| starts[stretch] += 1);
        // Where each stretch ends, from where its numbers are written downwards.
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut numbers = vec![0; sum as usize];
        each(&mut |stretch, number| {
            starts[stretch] -= 1;
            numbers[starts[stretch] as usize] = number;
        });
        Self { base, shift, starts, numbers, symbols, names, parts }
    }

    /// The last symbols that begin at `address` or before it, by address, the best name of an
    /// address last: [`NESTING`] of them and more, where there are so many.
    fn before(&self, address: u64) -> Vec<Sym64<Le>> {
        let mut found: Vec<Sym64<Le>> = Vec::new();
        let Some(from_base) = address.checked_sub(self.base) else { return found };
        let last = usize::try_from(from_base >> self.shift).unwrap_or(usize::MAX);
        let stretches = self.starts.array_windows::<2>().take(last.saturating_add(1));
        for &[start, end] in stretches.rev() {
            let numbers = self.numbers.get(start as usize..end as usize).unwrap_or_default();
            let symbols = numbers.iter().filter_map(|&number| self.symbols.get(number as usize));
            found.extend(symbols.filter(|symbol| symbol.st_value.get(Le) <= address));
            if found.len() >= NESTING {
                break;
            }
        }
        found.sort_unstable_by_key(|symbol| {
            (symbol.st_value.get(Le), rank(symbol), symbol.st_name.get(Le))
        });
        found
    }

    /// The symbol that holds `address`; one without a size reaches to the next, or to `end`.
    fn find(&self, address: u64, end: impl Fn() -> Option<u64>) -> Option<Sym64<Le>> {
        let before = self.before(address);
        let near = &before[before.len().saturating_sub(NESTING)..];
        let holds = |s: &&Sym64<Le>| address - s.st_value.get(Le) < s.st_size.get(Le);
        let nearest = near.last()?;
        let unsized_nearest = || {
            let is_unsized = nearest.st_size.get(Le) == 0;
            (is_unsized && end().is_some_and(|end| address < end)).then_some(nearest)
        };
        near.iter().rev().find(holds).or_else(unsized_nearest).copied()
    }

    /// The name of the symbol that holds `address`.
    fn name(&self, address: u64, end: impl Fn() -> Option<u64>) -> Option<Vec<u8>> {
        let at = self.find(address, end)?.st_name.get(Le) as usize;
        let name = self.names.get(at..)?.split(|&byte| byte == 0).next()?;
        (!name.is_empty()).then(|| name.to_vec())
    }
}

/// The content of a section, where it is not huge.
fn part(file: &File, section: &SectionHeader64<Le>) -> Option<Part> {
    let (start, size) = (section.sh_offset.get(Le), section.sh_size.get(Le));
    (size <= MAX_SECTION).then(|| Part::map(file, start..start.checked_add(size)?))?
}

/// How good a name is: functions before labels, global before weak before local.
fn rank(symbol: &Sym64<Le>) -> u8 {
    let binding = match symbol.st_bind() {
        STB_GLOBAL => 2,
        STB_WEAK => 1,
        _ => 0,
    };
    binding + if symbol.st_type() == STT_NOTYPE { 0 } else { 4 }
}

fn read(file: &File, offset: u64, size: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size.min(MAX_SECTION + 1)).ok()?];
    if size > MAX_SECTION {
        return None;
    }
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of code at these addresses, with sizes; the names are their places among them.
    fn table(symbols: &[(u64, u64)]) -> SymbolTable {
        let symbol = |(name, &(address, size))| {
            let mut symbol: Sym64<Le> = *object::pod::from_bytes(&[0; 24]).unwrap().0;
            symbol.st_name.set(Le, name);
            symbol.st_value.set(Le, address);
            symbol.st_size.set(Le, size);
            symbol
        };
        let symbols: Vec<Sym64<Le>> = (0..).zip(symbols).map(symbol).collect();
        SymbolTable::new(symbols.leak(), b"", [Part::default(); 2], 0..100, |_| true)
    }

    fn found(symbols: &[(u64, u64)], address: u64) -> Option<u32> {
        table(symbols).find(address, || Some(100)).map(|symbol| symbol.st_name.get(Le))
    }

    #[test]
    fn a_symbol_holds_no_more_than_its_size() {
        let symbols = [(10, 5), (20, 5)];
        assert_eq!(
            [9, 10, 14, 15, 24, 25].map(|at| found(&symbols, at)),
            [None, Some(0), Some(0), None, Some(1), None]
        );
    }

    #[test]
    fn a_symbol_without_size_reaches_to_the_next_or_the_end_of_the_code() {
        let symbols = [(10, 0), (20, 5), (30, 0)];
        assert_eq!([19, 26, 99, 100].map(|at| found(&symbols, at)), [Some(0), None, Some(2), None]);
    }

    #[test]
    fn a_symbol_inside_another_wins_where_it_is() {
        let symbols = [(10, 50), (20, 5)];
        assert_eq!([22, 30].map(|at| found(&symbols, at)), [Some(1), Some(0)]);
    }

    #[test]
    fn this_test_finds_itself_in_its_file() {
        let path = std::env::current_exe().unwrap();
        let image = Image::open(&path, &[]).unwrap();
        assert!(image.section(".text").is_some());
        assert!(image.section(".nothing").is_none());
        assert!(image.section(".debug_line").is_some());
        let table = &image.tables[0];
        assert!(table.numbers.len() > 1000);
        let address = table.symbols[table.numbers[500] as usize].st_value.get(Le);
        let name = image.function_at(address).unwrap();
        assert!(name.is_ascii());
        image.let_go();
        assert_eq!(image.function_at(address), Some(name));
    }

    #[test]
    fn another_file_of_the_same_name_is_refused() {
        let path = std::env::current_exe().unwrap();
        assert!(Image::open(&path, &[(0, b"\x7fELF".to_vec())]).is_some());
        assert!(Image::open(&path, &[(0, b"\x7fELG".to_vec())]).is_none());
        assert!(Image::open(Path::new("/nowhere"), &[]).is_none());
    }
}
