//! Shows this process, and what it becomes, chips on the PCI bus: folders over those of the system
//! in a mount namespace of its own, which nobody else sees.
// UNSAFETY: leaves the namespaces of the process's parent.
#![expect(unsafe_code, reason = "unshare")]
use super::chips::{Chips, Ids, VENDOR};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::{create_dir, create_dir_all, read_dir, read_link, write};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Where the system lists the devices of the bus.
const BUS: &str = "/sys/bus/pci/devices";

/// Shows the chips, and that a process holds them.
///
/// # Errors
/// Where the system does not allow namespaces.
pub(super) fn show(chips: &Chips, ids: Ids, holder: Option<u32>) -> io::Result<()> {
    enter()?;
    cover(Path::new(BUS))?;
    let entries = chips.count * ids.functions;
    for entry in 0..entries {
        let (chip, function) = (entry / ids.functions, entry % ids.functions);
        // A bus has 32 places.
        let place = format!("0000:{:02x}:{:02x}.{function}", chip / 32, chip % 32);
        let folder = Path::new(BUS).join(place);
        create_dir(&folder)?;
        let numbers = [
            ("vendor", VENDOR),
            ("device", ids.device),
            ("subsystem_vendor", VENDOR),
            ("subsystem_device", ids.subsystem),
        ];
        for (name, number) in numbers {
            write(folder.join(name), format!("{number}\n"))?;
        }
        symlink(format!("../../../kernel/iommu_groups/{entry}"), folder.join("iommu_group"))?;
    }
    hide_unreadable();
    if let Some(process) = holder {
        // Where the process cannot be seen its number stays out of the table.
        let _ = hold(process, entries);
    }
    Ok(())
}

/// Begins a mount namespace; as nobody in particular, in a user namespace of its own.
fn enter() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: this command has one thread here, and shares no files or memory.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_err() {
        // SAFETY: as above.
        unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", private)?)
}

/// Puts an empty folder over a place. Where the system has none, over the one above it.
fn cover(place: &Path) -> io::Result<()> {
    let there = place.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tpu-emu", there, "tmpfs", flags, None)?;
    create_dir_all(place)
}

/// Empties the lists of open files that may be listed and not looked at, as those of a sandbox's
/// first process: `tpu-info` ends at the first of them.
fn hide_unreadable() {
    for process in read_dir("/proc").into_iter().flatten().flatten() {
        let files = process.path().join("fd");
        let mut open = read_dir(&files).into_iter().flatten().flatten();
        let denied = |why: io::Error| why.kind() == io::ErrorKind::PermissionDenied;
        if open.any(|file| read_link(file.path()).is_err_and(denied)) {
            // Where it stays, the program says why it ends.
            let _ = mount("tpu-emu", &files, "tmpfs", MountFlags::NOSUID, None);
        }
    }
}

/// Makes it look as if a process had the chips open.
fn hold(process: u32, entries: usize) -> io::Result<()> {
    let files = format!("/proc/{process}/fd");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tpu-emu", &*files, "tmpfs", flags, None)?;
    for entry in 0..entries {
        symlink(format!("/dev/vfio/{entry}"), format!("{files}/{}", 2 * entry))?;
        symlink(format!("/dev/accel{entry}"), format!("{files}/{}", 2 * entry + 1))?;
    }
    Ok(())
}
