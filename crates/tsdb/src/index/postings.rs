use roaring::RoaringBitmap;

use crate::heap::ALLOCATION;

/// The ordinals of the series that have a label; at least one. Most labels of a large index occur
/// in a single series. A bitmap for each of these would take most of the index's memory, so `One`
/// stores the single ordinal.
#[derive(Clone, Debug)]
pub(super) enum Postings {
    One(u32),
    Many(Box<Many>),
}

/// A bitmap, with numbers that it would have to count each time.
#[derive(Clone, Debug)]
pub(super) struct Many {
    pub(super) ordinals: RoaringBitmap,
    length: u32,
    /// The range of all ordinals so far. Finding it in the bitmap would cost as much as the rest of
    /// an insert.
    least: u32,
    greatest: u32,
    /// An estimate of the memory.
    bytes: usize,
}

impl Postings {
    /// Adds a series. Returns the bytes that the postings have grown by.
    pub(super) fn insert(&mut self, ordinal: u32) -> usize {
        match self {
            Self::One(one) => {
                let mut many = Many::new(*one);
                let grown = many.bytes + many.insert(ordinal);
                *self = Self::Many(Box::new(many));
                grown
            }
            Self::Many(many) => many.insert(ordinal),
        }
    }

    /// Removes a series. Returns the bytes that the postings have shrunk by, or `None` if no
    /// series is left.
    pub(super) fn remove(&mut self, ordinal: u32) -> Option<usize> {
        match self {
            Self::Many(many) if many.length > 1 => Some(many.remove(ordinal)),
            Self::One(_) | Self::Many(_) => None,
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => u64::from(many.length),
        }
    }

    /// Returns the bytes that the postings occupy on the heap; an estimate.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(many) => many.bytes,
        }
    }
}

impl Many {
    fn new(ordinal: u32) -> Self {
        let mut many = Self {
            ordinals: [ordinal].into_iter().collect(),
            length: 1,
            least: ordinal,
            greatest: ordinal,
            bytes: 0,
        };
        many.bytes = many.estimate();
        many
    }

    fn insert(&mut self, ordinal: u32) -> usize {
        self.length += u32::from(self.ordinals.insert(ordinal));
        self.least = self.least.min(ordinal);
        self.greatest = self.greatest.max(ordinal);
        let before = self.bytes;
        self.bytes = self.estimate();
        self.bytes - before
    }

    fn remove(&mut self, ordinal: u32) -> usize {
        self.length -= u32::from(self.ordinals.remove(ordinal));
        let before = self.bytes;
        self.bytes = self.estimate();
        before - self.bytes
    }

    /// Estimates the memory from the number of ordinals and their range. It grows with both, so an
    /// insert never shrinks it.
    fn estimate(&self) -> usize {
        /// The bitmap keeps a container for each 65,536 ordinals, in a list that begins with room
        /// for four.
        const CONTAINER: usize = 32;
        const BASE: usize = size_of::<Many>() + 4 * CONTAINER + 2 * ALLOCATION;
        /// A container is a list with room for up to twice its ordinals of two bytes, or a bitmap.
        const ORDINAL: usize = 4;
        const BITMAP: usize = 8192;
        let range = (self.greatest >> 16) - (self.least >> 16) + 1;
        let length = self.length as usize;
        let containers = length.min(range as usize);
        let content = (ORDINAL * length).min(BITMAP * containers);
        BASE + containers * (2 * CONTAINER + ALLOCATION) + content
    }
}

/// The union of many postings. Single ordinals go into a plain bitmap: ordinals are dense, so this
/// is cheaper than sorting them.
#[derive(Debug, Default)]
pub(super) struct Union {
    single: Vec<u8>,
    many: RoaringBitmap,
}

impl Union {
    pub(super) fn add(&mut self, postings: &Postings) {
        match postings {
            Postings::One(one) => {
                let byte = *one as usize / 8;
                // The postings come in no order, so grow in large steps.
                if self.single.len() <= byte {
                    self.single.resize((byte + 1).next_multiple_of(1024), 0);
                }
                self.single[byte] |= 1 << (one % 8);
            }
            Postings::Many(many) => self.many |= &many.ordinals,
        }
    }

    pub(super) fn finish(self) -> RoaringBitmap {
        RoaringBitmap::from_lsb0_bytes(0, &self.single) | self.many
    }
}
