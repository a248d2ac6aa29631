//! Entries of `.eh_frame`: what a module's tables say about the function at an address.
use super::modules::{Module, UnwindTables};
use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    UnwindSection,
};

/// Tables where they are mapped.
pub(super) type Bytes = EndianSlice<'static, LittleEndian>;

/// Where the tables are, and the entries.
pub(super) fn section(tables: &UnwindTables) -> (BaseAddresses, EhFrame<Bytes>) {
    let bases = BaseAddresses::default();
    let bases = bases.set_eh_frame_hdr(tables.hdr_at).set_eh_frame(tables.eh_frame_at);
    (bases, EhFrame::new(tables.eh_frame, LittleEndian))
}

/// The entry for the code at `address`.
pub(super) fn entry(tables: &UnwindTables, address: u64) -> Option<FrameDescriptionEntry<Bytes>> {
    let (bases, section) = section(tables);
    let hdr = EhFrameHdr::new(tables.hdr, LittleEndian).parse(&bases, 8).ok()?;
    let get_cie = EhFrame::cie_from_offset;
    hdr.table()?.fde_for_address(&section, &bases, address, get_cie).ok()
}

/// Whether `address`, in `module`, is in the code that the kernel lets a signal handler return to.
pub(super) fn is_trampoline(module: &Module, address: u64) -> bool {
    let entry = module.unwind.as_ref().and_then(|tables| entry(tables, address));
    entry.is_some_and(|entry| entry.is_signal_trampoline())
}
