//! Whether this host has a network that libfabric is for. Looks at files only, and loads nothing.

use std::path::Path;

/// Where drivers of such networks show their devices; what the devices are called there; what to call the network.
const PLACES: [(&str, &str, &str); 4] = [
    ("/sys/class/infiniband", "", "RDMA device"),
    ("/sys/class/cxi", "", "Slingshot device"),
    ("/sys/class/hfi1", "hfi1", "Omni-Path device"),
    ("/dev", "hfi1_", "Omni-Path device"),
];

/// The first device found, as in `RDMA device mlx5_0`. It costs a few system calls.
pub fn has_rdma_hardware() -> Option<String> {
    find(Path::new("/"))
}

fn find(root: &Path) -> Option<String> {
    PLACES.iter().find_map(|(place, prefix, kind)| {
        let entries = std::fs::read_dir(root.join(place.trim_start_matches('/'))).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let first = names.filter(|name| name.starts_with(prefix)).min()?;
        Some(format!("{kind} {first}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_directory() {
        let root = crate::testkit::scratch::Scratch::with("ofi-hardware", &[("dev/null", "")]);
        assert_eq!(find(&root), None);
        ["mlx5_1", "mlx5_0"].iter().for_each(|name| root.write(format!("sys/class/infiniband/{name}/x"), ""));
        assert_eq!(find(&root).as_deref(), Some("RDMA device mlx5_0"));
    }
}
