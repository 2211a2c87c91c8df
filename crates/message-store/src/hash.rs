use md5::{Digest, Md5};

/// The first eight bytes of the MD5 of a text, as a signed big-endian number. Message DB uses this
/// hash to assign streams to the members of a consumer group.
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
