//! The symbols of an ELF file, read from disk: an index in memory, the names left in the file.
use object::LittleEndian as Le;
use object::elf::{
    EM_X86_64, FileHeader64, SHF_COMPRESSED, SHF_EXECINSTR, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB,
    STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, SectionHeader64, SectionType, Sym64,
};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a symbol table read at once.
const CHUNK: usize = 24 << 15;

/// Bytes of a section at most that is read whole.
const MAX_SECTION: u64 = 1 << 29;

/// Symbols that are looked at for one that reaches over others.
const NESTING: usize = 16;

/// An ELF file and where its symbols are.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    sections: Vec<SectionHeader64<Le>>,
    section_names: Vec<u8>,
    /// `.symtab`, then `.dynsym`.
    tables: Vec<SymbolTable>,
}

#[derive(Debug)]
struct SymbolTable {
    /// By address, the best name of an address last.
    symbols: Vec<ElfSymbol>,
    /// Where the names are in the file.
    names: Range<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ElfSymbol {
    address: u64,
    size: u32,
    name: u32,
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
        self.tables.iter().find_map(|table| {
            let symbol = table.find(address, || self.code_end(address))?;
            self.name(table.names.start + u64::from(symbol.name), table.names.end)
        })
    }

    /// Whether a code section holds `address`. Debug information also speaks of code that the
    /// linker left out, as if it began at 0.
    pub(super) fn has_code_at(&self, address: u64) -> bool {
        self.code_end(address).is_some()
    }

    /// The content of a section, `None` where it is missing, compressed or huge.
    pub(super) fn section(&self, name: &str) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|section| {
            let at = section.sh_name.get(Le) as usize;
            let rest = self.section_names.get(at..).unwrap_or_default();
            rest.split(|&byte| byte == 0).next() == Some(name.as_bytes())
        })?;
        let flags = section.sh_flags.get(Le);
        if flags.0 & SHF_COMPRESSED.0 != 0 || section.sh_type.get(Le) == SHT_NOBITS {
            return None;
        }
        read(&self.file, section.sh_offset.get(Le), section.sh_size.get(Le))
    }

    /// The end of the code section that holds `address`.
    fn code_end(&self, address: u64) -> Option<u64> {
        let code = |s: &&SectionHeader64<Le>| s.sh_flags.get(Le).0 & SHF_EXECINSTR.0 != 0;
        let ranges = self.sections.iter().filter(code).map(|section| {
            let start = section.sh_addr.get(Le);
            start..start.saturating_add(section.sh_size.get(Le))
        });
        ranges.filter(|range| range.contains(&address)).map(|range| range.end).next()
    }

    fn table(&self, kind: SectionType) -> Option<SymbolTable> {
        let section = self.sections.iter().find(|s| s.sh_type.get(Le) == kind)?;
        let strings = self.sections.get(section.sh_link.get(Le) as usize)?;
        let start = strings.sh_offset.get(Le);
        let names = start..start.checked_add(strings.sh_size.get(Le))?;
        let is_code: Vec<bool> = self
            .sections
            .iter()
            .map(|section| section.sh_flags.get(Le).0 & SHF_EXECINSTR.0 != 0)
            .collect();

        let mut ranked = Vec::new();
        let mut chunk = vec![0; CHUNK];
        let (mut at, mut left) = (section.sh_offset.get(Le), section.sh_size.get(Le));
        while left >= 24 {
            let size = usize::try_from(left).ok()?.min(CHUNK) / 24 * 24;
            self.file.read_exact_at(&mut chunk[..size], at).ok()?;
            let (symbols, _) =
                object::pod::slice_from_bytes::<Sym64<Le>>(&chunk[..size], size / 24).ok()?;
            let code = |s: &&Sym64<Le>| {
                is_code.get(usize::from(s.st_shndx.get(Le).0)) == Some(&true)
                    && matches!(s.st_type(), STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE)
            };
            ranked.extend(symbols.iter().filter(code).map(|symbol| (rank(symbol), packed(symbol))));
            at += size as u64;
            left -= size as u64;
        }
        ranked.sort_unstable_by_key(|(rank, symbol)| (symbol.address, *rank, symbol.name));
        let symbols = ranked.into_iter().map(|(_, symbol)| symbol).collect();
        Some(SymbolTable { symbols, names })
    }

    fn name(&self, at: u64, end: u64) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        let mut at = at;
        while at < end {
            let part = read(&self.file, at, (end - at).min(256))?;
            match part.iter().position(|&byte| byte == 0) {
                Some(length) => {
                    name.extend_from_slice(&part[..length]);
                    return (!name.is_empty()).then_some(name);
                }
                None => name.extend_from_slice(&part),
            }
            at += part.len() as u64;
        }
        None
    }
}

impl SymbolTable {
    /// The symbol that holds `address`; one without a size reaches to the next, or to `end`.
    fn find(&self, address: u64, end: impl Fn() -> Option<u64>) -> Option<ElfSymbol> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let before = &self.symbols[after.saturating_sub(NESTING)..after];
        let holds = |s: &&ElfSymbol| address - s.address < u64::from(s.size);
        let nearest = before.last()?;
        let unsized_nearest =
            || (nearest.size == 0 && end().is_some_and(|end| address < end)).then_some(nearest);
        before.iter().rev().find(holds).or_else(unsized_nearest).copied()
    }
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

fn packed(symbol: &Sym64<Le>) -> ElfSymbol {
    let size = u32::try_from(symbol.st_size.get(Le)).unwrap_or(u32::MAX);
    ElfSymbol { address: symbol.st_value.get(Le), size, name: symbol.st_name.get(Le) }
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

    fn table(symbols: &[(u64, u32)]) -> SymbolTable {
        let symbol = |(name, &(address, size))| ElfSymbol { address, size, name };
        SymbolTable { symbols: (0..).zip(symbols).map(symbol).collect(), names: 0..0 }
    }

    fn found(symbols: &[(u64, u32)], address: u64) -> Option<u32> {
        table(symbols).find(address, || Some(100)).map(|symbol| symbol.name)
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
        assert!(table.symbols.len() > 1000);
        let name = image.function_at(table.symbols[500].address).unwrap();
        assert!(name.is_ascii());
    }

    #[test]
    fn another_file_of_the_same_name_is_refused() {
        let path = std::env::current_exe().unwrap();
        assert!(Image::open(&path, &[(0, b"\x7fELF".to_vec())]).is_some());
        assert!(Image::open(&path, &[(0, b"\x7fELG".to_vec())]).is_none());
        assert!(Image::open(Path::new("/nowhere"), &[]).is_none());
    }
}
