//! What the machine can still give, which is never what is installed.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory that a backend takes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The host's: the CPU reference, and software adapters. `None` where the system does not say.
    Host {
        /// Bytes that can still be taken, as [`available`] finds them.
        available: Option<u64>,
    },
    /// A GPU's own.
    Device {
        /// Bytes that the driver lets this process take.
        memory: Option<u64>,
    },
    /// Memory that CPU and GPU share.
    Unified {
        /// Bytes that the system recommends to keep on the device at most.
        working_set: u64,
    },
}

impl Machine {
    /// Bytes that may be planned with: what there is, less a margin for what the driver and others take, and no more
    /// than `limit`. `None` where nothing is known.
    pub fn usable(&self, limit: Option<u64>) -> Option<u64> {
        let usable = match *self {
            Machine::Host { available } => available,
            Machine::Device { memory } => memory.map(|memory| memory - (memory / 32).max(256 << 20).min(memory)),
            Machine::Unified { working_set } => Some(working_set - (working_set / 16).max(512 << 20).min(working_set)),
        };
        smaller(usable, limit)
    }
}

/// Bytes that a process can still take without pushing others out: `MemAvailable` on Linux, and no more than any
/// control group it is in allows. `None` where the system does not say.
pub fn available() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let meminfo = read(Path::new("/proc/meminfo")).and_then(|text| mem_available(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    groups.lines().filter_map(Group::parse).fold(meminfo, |least, group| {
        group.directories().fold(least, |least, directory| {
            let number = |name: &str| read(&directory.join(name)).and_then(|text| text.trim().parse().ok());
            let statistics = read(&directory.join("memory.stat")).unwrap_or_default();
            let cached = statistic(&statistics, group.inactive_file).unwrap_or(0);
            let left = number(group.limit).map(|limit: u64| left(limit, number(group.used).unwrap_or(0), cached));
            smaller(least, left)
        })
    })
}

/// The control group of a process in one hierarchy, and the names of its files.
struct Group {
    root: &'static str,
    path: String,
    limit: &'static str,
    used: &'static str,
    inactive_file: &'static str,
}

impl Group {
    /// A line of `/proc/self/cgroup`: the unified hierarchy (version 2), or the memory controller's (version 1).
    fn parse(line: &str) -> Option<Group> {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?.to_owned());
        if controllers.is_empty() {
            let (limit, used) = ("memory.max", "memory.current");
            return Some(Group { root: "/sys/fs/cgroup", path, limit, used, inactive_file: "inactive_file" });
        }
        controllers.split(',').any(|controller| controller == "memory").then_some(Group {
            root: "/sys/fs/cgroup/memory",
            path,
            limit: "memory.limit_in_bytes",
            used: "memory.usage_in_bytes",
            inactive_file: "total_inactive_file",
        })
    }

    /// The group's directory and those above it: a limit on any of them counts.
    fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let root = Path::new(self.root);
        Path::new(self.path.trim_start_matches('/')).ancestors().map(move |path| root.join(path))
    }
}

/// What a limit leaves: files that were read and not used since give way, so they do not count as used.
fn left(limit: u64, used: u64, cached: u64) -> u64 {
    limit.saturating_sub(used.saturating_sub(cached))
}

/// A number of `memory.stat`.
fn statistic(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The smaller of two sizes either of which may be unknown.
pub fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_what_the_kernel_calls_available() {
        let text = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(mem_available(text), Some(20_480_000_000));
        assert_eq!(mem_available("MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn limits_of_both_versions_of_control_groups_and_of_all_groups_above_count() {
        let directories = |line: &str| Group::parse(line).map(|group| group.directories().collect::<Vec<_>>());
        let expected: [PathBuf; 3] =
            ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"].map(Into::into);
        assert_eq!(directories("0::/user.slice/a.scope").as_deref(), Some(&expected[..]));
        let version_1 = directories("4:cpu,memory:/docker/x").unwrap();
        assert_eq!(version_1[0], Path::new("/sys/fs/cgroup/memory/docker/x"));
        assert_eq!(directories("5:cpu:/docker/x"), None);
        assert_eq!(directories("nonsense"), None);
    }

    #[test]
    fn cached_files_do_not_count_as_used() {
        assert_eq!(left(100, 90, 60), 70);
        assert_eq!(left(100, 200, 0), 0);
        assert_eq!(statistic("anon 5\ninactive_file 60\n", "inactive_file"), Some(60));
        assert_eq!(statistic("inactive_files 60\n", "inactive_file"), None);
    }

    #[test]
    fn no_machine_is_planned_beyond_its_working_set_less_a_margin() {
        const GIB: f64 = (1u64 << 30) as f64;
        // Installed memory, and the working set that Macs of that size recommend (for 24 GiB none is known: two thirds).
        let machines = [(16, 12.7), (24, 16.1), (32, 26.8), (36, 30.2), (48, 40.2), (64, 55.7), (128, 115.4)];
        for (installed, working_set) in machines {
            let machine = Machine::Unified { working_set: (working_set * GIB) as u64 };
            let usable = machine.usable(None).unwrap() as f64 / GIB;
            assert!(usable <= working_set - 0.5, "{installed} GiB: {usable} of {working_set}");
            assert!(usable >= 0.9 * working_set, "{installed} GiB: {usable} of {working_set}");
            let limited = machine.usable(Some(4 << 30));
            assert_eq!(limited, Some(4 << 30), "{installed} GiB: --memory-limit counts");
        }
    }

    #[test]
    fn a_small_or_silent_device_is_planned_with_what_it_says() {
        assert_eq!(Machine::Device { memory: Some(100 << 20) }.usable(None), Some(0));
        assert_eq!(Machine::Device { memory: Some(8 << 30) }.usable(None), Some((8 << 30) - (256 << 20)));
        assert_eq!(Machine::Device { memory: None }.usable(None), None);
        assert_eq!(Machine::Host { available: None }.usable(Some(5)), Some(5));
    }

    #[test]
    fn the_smaller_limit_counts() {
        assert_eq!(smaller(Some(5), Some(3)), Some(3));
        assert_eq!(smaller(None, Some(3)), Some(3));
        assert_eq!(smaller(None, None), None);
    }
}
