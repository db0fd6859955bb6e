//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// Bytes in the unit that suits them.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.iter().find(|(_, size)| self.0 >= *size) {
            Some((unit, size)) => write!(f, "{:.2} {unit}", self.0 as f64 / *size as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// A size that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a size such as 4GiB, 512MiB or 1000000")]
pub struct BadSize;

impl FromStr for Bytes {
    type Err = BadSize;

    /// A number and a unit: KiB, MiB, GiB (also K, M, G and their `B`), or none for bytes.
    fn from_str(text: &str) -> Result<Bytes, BadSize> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(BadSize),
        };
        let bytes = number.parse::<f64>().map_err(|_| BadSize)? * f64::from(1u32 << 30).powf(f64::from(shift) / 30.0);
        if bytes < (1u64 << 62) as f64 { Ok(Bytes(bytes.round() as u64)) } else { Err(BadSize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let read = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0);
        assert_eq!(read("4GiB"), Ok(4 << 30));
        assert_eq!(read("1.5g"), Ok(3 << 29));
        assert_eq!(read("64 MiB"), Ok(64 << 20));
        assert_eq!(read("1000"), Ok(1000));
        for wrong in ["", "GiB", "4 potatoes", "-1GiB", "1e9", "999999999TiB"] {
            assert_eq!(read(wrong), Err(BadSize), "{wrong}");
        }
    }
}
