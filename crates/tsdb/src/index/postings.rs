use roaring::RoaringBitmap;

/// The ordinals of the series that have a label; at least one. Most labels of a large index occur
/// in a single series. A bitmap for each of these would take most of the index's memory, so `One`
/// stores the single ordinal.
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

    /// Removes a series. Returns `true` if none is left.
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
            Postings::Many(many) => self.many |= &**many,
        }
    }

    pub(super) fn finish(self) -> RoaringBitmap {
        RoaringBitmap::from_lsb0_bytes(0, &self.single) | self.many
    }
}
