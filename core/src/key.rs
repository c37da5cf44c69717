//! Keys that are made of parts, or of addresses.

use crate::Error;
use std::net::IpAddr;

/// The prefix that one household or server usually has, and so what an IPv6 address is shortened to unless asked otherwise.
pub const IPV6_PREFIX: u8 = 64;

/// One key of several parts, such that other parts never make the same key: each is preceded by its length (eight bytes,
/// least significant first).
///
/// ```
/// use tidegate::key_of;
///
/// assert_ne!(key_of(&["a", "b/c"]), key_of(&["a/b", "c"]));
/// ```
#[must_use]
pub fn key_of<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    let mut key = Vec::with_capacity(parts.iter().map(|part| 8 + part.as_ref().len()).sum());
    for part in parts {
        let part = part.as_ref();
        key.extend_from_slice(&(part.len() as u64).to_le_bytes());
        key.extend_from_slice(part);
    }
    key
}

/// The key of a network address: the address with all bits behind the prefix zero, as bytes in network order, four or sixteen.
///
/// An IPv4 address that is written as IPv6 (`::ffff:203.0.113.7`) is the IPv4 address. Without a prefix IPv4 counts whole, and
/// IPv6 by its first [`IPV6_PREFIX`] bits, since whoever has one address of a /64 has them all.
///
/// ```
/// use tidegate::ip_key;
///
/// let key = |address: &str, prefix| ip_key(address.parse().unwrap(), prefix).unwrap();
/// assert_eq!(key("::ffff:203.0.113.7", None), key("203.0.113.7", None));
/// assert_eq!(key("2001:db8:1:2:3::4", None), key("2001:db8:1:2::", None));
/// assert_eq!(key("203.0.113.7", Some(24)), [203, 0, 113, 0]);
/// ```
///
/// # Errors
///
/// If the prefix is longer than the address: over 32 for IPv4, over 128 for IPv6.
pub fn ip_key(address: IpAddr, prefix: Option<u8>) -> Result<Vec<u8>, Error> {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mask = mask(prefix.unwrap_or(32), 32)? as u32;
            Ok((address.to_bits() & mask).to_be_bytes().to_vec())
        }
        IpAddr::V6(address) => {
            let mask = mask(prefix.unwrap_or(IPV6_PREFIX), 128)?;
            Ok((address.to_bits() & mask).to_be_bytes().to_vec())
        }
    }
}

/// `prefix` ones on top of `bits` bits.
fn mask(prefix: u8, bits: u8) -> Result<u128, Error> {
    if prefix > bits {
        return Err(Error::option("prefix", prefix, format_args!("0 to {bits} for this address")));
    }
    let ones = u128::MAX.checked_shl(u32::from(bits - prefix)).unwrap_or(0);
    Ok(ones)
}
