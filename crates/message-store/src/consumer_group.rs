use crate::stream_name::group_key;
use crate::text::invalid;
use crate::{Error, Problem, hash_64};

/// One member of a group of consumers that share a category. Each stream is read by exactly one
/// member. Streams with the same cardinal id are read by the same member. A stream without an id is
/// assigned by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerGroup {
    member: u32,
    size: u32,
}

impl ConsumerGroup {
    /// Creates the member with number `member`, counted from 0, of a group of `size` members.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer_group.size` if `size` is not between 1 and
    /// `u32::MAX`, or with field `consumer_group.member` if `member` is not between 0 and `size -
    /// 1`.
    pub fn new(member: i64, size: i64) -> Result<Self, Error> {
        let size = in_range("consumer_group.size", size, 1, u32::MAX.into())?;
        let member = in_range("consumer_group.member", member, 0, i64::from(size) - 1)?;
        Ok(Self { member, size })
    }

    /// The member's number, from 0.
    pub fn member(self) -> u32 {
        self.member
    }

    /// The number of members.
    pub fn size(self) -> u32 {
        self.size
    }

    /// Whether this member reads the stream.
    pub fn includes(self, stream_name: &str) -> bool {
        let hash = hash_64(group_key(stream_name)).unsigned_abs();
        hash % u64::from(self.size) == u64::from(self.member)
    }
}

fn in_range(field: &str, actual: i64, min: i64, max: i64) -> Result<u32, Error> {
    let problem = if actual < min {
        Problem::TooSmall { min, actual }
    } else if actual > max {
        Problem::TooLarge {
            max: max.unsigned_abs(),
            actual: actual.unsigned_abs(),
        }
    } else {
        // Callers pass bounds within 32 bits, so the cast is lossless.
        return Ok(actual as u32);
    };
    Err(invalid(field)(problem))
}
