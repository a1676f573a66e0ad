//! Random bytes, random names, and the hexadecimal digits of bytes.

use std::io;
use std::time::Duration;

/// Returns random bytes from the system.
///
/// # Errors
/// If the system provides none.
pub fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Returns a unique name: 128 random bits in hexadecimal digits.
///
/// # Errors
/// Returns the error of [`bytes`].
pub fn id() -> io::Result<String> {
    bytes::<16>().map(|bytes| hex(&bytes))
}

/// Returns the hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A pause between three and five quarters as long, so that those who wait do not return together.
pub fn jittered(pause: Duration) -> Duration {
    // Not taken from the clock, which may be coarse.
    let chance = bytes().map_or(u16::MAX / 2, u16::from_ne_bytes);
    pause.mul_f64(0.75 + 0.5 * f64::from(chance) / f64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_32_digits_and_no_two_are_the_same() {
        let one = id().unwrap();
        let other = id().unwrap();
        assert!(one.len() == 32 && one.bytes().all(|digit| digit.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
    }

    #[test]
    fn pauses_differ_by_a_quarter_at_most() {
        let pauses: Vec<Duration> = (0..100).map(|_| jittered(Duration::from_secs(4))).collect();
        assert!(pauses.iter().all(|pause| (3.0..=5.0).contains(&pause.as_secs_f64())), "{pauses:?}");
        assert_ne!(pauses.iter().min(), pauses.iter().max());
    }
}
