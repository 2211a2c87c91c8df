use roaring::RoaringBitmap;

/// The series that have a label, by ordinal; one or more. Most labels of a large index are of one
/// series alone: a bitmap each would be most of its memory.
#[derive(Clone, Debug)]
pub(super) enum Postings {
    One(u32),
    Many(Box<RoaringBitmap>),
}

impl Postings {
    pub(super) fn insert(&mut self, ordinal: u32) {
        match self {
            Self::One(one) => *self = Self::Many(Box::new([*one, ordinal].into_iter().collect())),
            Self::Many(many) => {
                many.insert(ordinal);
            }
        }
    }

    /// Returns whether none is left.
    pub(super) fn remove(&mut self, ordinal: u32) -> bool {
        match self {
            Self::One(one) => *one == ordinal,
            Self::Many(many) => {
                many.remove(ordinal);
                many.is_empty()
            }
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.len(),
        }
    }
}

/// The union of many postings. Ordinals are dense, so a bit for each is cheaper than an order.
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
                if self.single.len() <= byte {
                    self.single.resize((byte + 1).next_multiple_of(1024), 0);
                }
                self.single[byte] |= 1 << (one % 8);
            }
            Postings::Many(many) => self.many |= &**many,
        }
    }

    pub(super) fn finish(self) -> RoaringBitmap {
        RoaringBitmap::from_lsb0_bytes(0, &self.single) | self.many
    }
}
