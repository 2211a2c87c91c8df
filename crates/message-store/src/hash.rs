use md5::{Digest, Md5};

/// The first eight bytes of the MD5 of a text, big-endian and signed: the hash that Message DB
/// divides streams among consumers by.
///
/// ```
/// assert_eq!(message_store::hash_64(""), -3162216497309240828);
/// ```
pub fn hash_64(text: &str) -> i64 {
    let digest = Md5::digest(text.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
