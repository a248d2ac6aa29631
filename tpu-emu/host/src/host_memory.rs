//! What the host has left: of its memory, and of what the control groups of this process may use.
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use tpu_emu::host_memory::HostMemory;
use tpu_emu::units::Bytes;

/// The host of this process.
#[derive(Debug)]
pub(crate) struct Host;

impl HostMemory for Host {
    fn left(&self) -> Option<Bytes> {
        left(&|path| read_to_string(path).ok())
    }
}

/// The least of what the host and each group have left, by the files that `read` gives.
fn left(read: &dyn Fn(&Path) -> Option<String>) -> Option<Bytes> {
    let memory = read(Path::new("/proc/meminfo"))?;
    let host = field(&memory, "MemAvailable:")?;
    let swap = field(&memory, "SwapFree:").unwrap_or_default();
    let mut least = (host + swap).saturating_mul(1024);
    for line in read(Path::new("/proc/self/cgroup")).unwrap_or_default().lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, files) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current"]),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"])
            }
            _ => continue,
        };
        // A container may see its own group as the root, whatever it is called outside.
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = Path::new(root).join(folder);
            least = least.min(of_group(read, &folder, files).unwrap_or(u64::MAX));
        }
    }
    Some(Bytes(least))
}

/// What a group has left; `None` for one without a limit.
fn of_group(
    read: &dyn Fn(&Path) -> Option<String>,
    folder: &Path,
    [limit, used]: [&str; 2],
) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { read(&folder.join(name))?.trim().parse().ok() };
    let (limit, used) = (number(limit)?, number(used)?);
    // Pages of files go when they are in the way.
    let table = read(&PathBuf::from(folder).join("memory.stat")).unwrap_or_default();
    let files = ["inactive_file", "active_file"].map(|name| field(&table, name).unwrap_or(0));
    Some(limit.saturating_sub(used.saturating_sub(files.iter().sum())))
}

/// The number behind a name at the start of a row.
fn field(table: &str, name: &str) -> Option<u64> {
    let of = |row: &str| -> Option<u64> {
        let (key, value) = row.split_once(char::is_whitespace)?;
        (key == name).then(|| value.split_whitespace().next()?.parse().ok())?
    };
    table.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn with(files: &[(&str, &str)]) -> Option<Bytes> {
        let files: HashMap<&Path, &str> =
            files.iter().map(|&(path, text)| (Path::new(path), text)).collect();
        left(&|path| files.get(path).map(|text| (*text).to_owned()))
    }

    const MEMORY: (&str, &str) =
        ("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:  4000 kB\nSwapFree: 96 kB\n");

    #[test]
    fn without_groups_it_is_what_the_kernel_counts() {
        assert_eq!(with(&[MEMORY]), Some(Bytes(4096 << 10)));
        assert_eq!(with(&[]), None);
        assert!(Host.left().is_some_and(|left| left > Bytes::ZERO));
    }

    #[test]
    fn the_tightest_group_counts_and_pages_of_files_do_not() {
        let group = |limit| {
            [
                MEMORY,
                ("/proc/self/cgroup", "0::/a/b\n"),
                ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
                ("/sys/fs/cgroup/a/b/memory.current", "700\n"),
                ("/sys/fs/cgroup/a/memory.max", limit),
                ("/sys/fs/cgroup/a/memory.current", "800\n"),
                (
                    "/sys/fs/cgroup/a/memory.stat",
                    "anon 5\nfile 9\ninactive_file 70\nactive_file 30\n",
                ),
            ]
        };
        assert_eq!(with(&group("1000\n")), Some(Bytes(300)));
        assert_eq!(with(&group("500\n")), Some(Bytes(0)));
        assert_eq!(with(&group("max\n")), Some(Bytes(4096 << 10)));
    }

    #[test]
    fn groups_of_the_older_kind_are_found_where_a_container_sees_them() {
        let files = [
            MEMORY,
            ("/proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/docker/abc\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2000\n"),
        ];
        assert_eq!(with(&files), Some(Bytes(3000)));
    }
}
