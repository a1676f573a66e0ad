//! Random bytes, random names, and the hexadecimal digits of bytes.

use std::io;

/// Random bytes of the system.
///
/// # Errors
/// If the system gives none.
pub fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// A name that nothing else has: 128 random bits in hexadecimal digits.
///
/// # Errors
/// As for [`bytes`].
pub fn id() -> io::Result<String> {
    bytes::<16>().map(|bytes| hex(&bytes))
}

/// The hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_32_digits_and_no_two_are_the_same() {
        let (one, other) = (id().unwrap(), id().unwrap());
        assert!(one.len() == 32 && one.bytes().all(|digit| digit.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
    }
}
