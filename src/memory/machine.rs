//! What the machine can still give, which is never what is installed.

use std::fs;

/// Bytes that a process can still take without pushing others out: `MemAvailable` on Linux, and no more than the
/// control group allows. `None` where the system does not say.
pub fn available() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo").and_then(|text| mem_available(&text));
    let group = group_directory(&read("/proc/self/cgroup").unwrap_or_default());
    let limit = read(&format!("{group}/memory.max")).and_then(|text| text.trim().parse::<u64>().ok());
    let used = read(&format!("{group}/memory.current")).and_then(|text| text.trim().parse::<u64>().ok());
    smaller(meminfo, limit.map(|limit| limit.saturating_sub(used.unwrap_or(0))))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The directory of this process's control group (version 2).
fn group_directory(cgroup: &str) -> String {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    format!("/sys/fs/cgroup{}", path.trim_end_matches('/'))
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
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
    fn the_control_group_is_found_by_its_path() {
        assert_eq!(group_directory("0::/user.slice/a.scope\n"), "/sys/fs/cgroup/user.slice/a.scope");
        assert_eq!(group_directory("0::/\n"), "/sys/fs/cgroup");
    }

    #[test]
    fn the_smaller_limit_counts() {
        assert_eq!(smaller(Some(5), Some(3)), Some(3));
        assert_eq!(smaller(None, Some(3)), Some(3));
        assert_eq!(smaller(None, None), None);
    }
}
