//! Numbers, sizes and names for people.

/// Three significant digits: `0.00331`, `0.338`, `4.21`, `42.1`, `421`, `42100`.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        _ if magnitude == 0.0 => 0,
        100.0.. => 0,
        _ => (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize,
    };
    format!("{value:.decimals$}")
}

/// `64 B`, `4 KiB`, `1 MiB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

/// `µs` for `us`; other units stay as they are.
pub fn unit(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

/// The heading of a section.
pub fn section(name: &str) -> &str {
    match name {
        "am" => "Active messages",
        "rma" => "Puts and gets",
        "boxes" => "Mail boxes",
        "atomic" => "Atomics",
        "barrier" => "Barriers",
        "poll" => "Polling",
        "lock" => "Locks",
        "start" => "Start and exit",
        "memory" => "Memory",
        "coll" => "Collectives",
        "hosts" => "Two hosts",
        "layers" => "The layers of a message",
        "sci" => "The hardware of timing mode",
        "limit" => "Limits of the hardware",
        other => other,
    }
}

/// An operation's name for places where it is clear that peers stand beside it.
pub fn beside(operation: &str) -> &str {
    operation.strip_suffix(", beside peers").unwrap_or(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.0033123, 0.33846, 4.2051, 42.05, 420.5, 42050.0].map(number);
        assert_eq!(shown, ["0", "0.00331", "0.338", "4.21", "42.0", "420", "42050"]);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!([8, 1024, 1536, 65536, 4 << 20].map(bytes), ["8 B", "1 KiB", "1536 B", "64 KiB", "4 MiB"]);
    }
}
