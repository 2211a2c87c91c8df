use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{Counted, Large, Outbox, Turn};

/// The frame of a large event. All subscribers that are sending it share one copy.
#[derive(Debug)]
pub(crate) struct Frame {
    text: Counted,
    _large: Large,
}

/// The frames that some subscriber has not read yet, by the event's id.
#[derive(Debug, Default)]
pub(super) struct Frames(Mutex<HashMap<Uuid, Weak<Frame>>>);

impl Outbox {
    /// The frame of the event with this id, made if no other subscriber holds it.
    ///
    /// # Errors
    /// The text, if there is no memory to hold it.
    pub(crate) fn frame(
        &self,
        id: Uuid,
        make: impl FnOnce() -> Vec<u8>,
    ) -> Result<Arc<Frame>, Vec<u8>> {
        if let Some(frame) = self.frames.0.lock().get(&id).and_then(Weak::upgrade) {
            return Ok(frame);
        }
        // Made without the lock: another subscriber may make the same frame in the meantime, which
        // only costs a copy.
        let text = make();
        let Some(large) = self.large(text.len()) else {
            return Err(text);
        };
        let frame = Arc::new(Frame {
            text: self.counted(text),
            _large: large,
        });
        let mut frames = self.frames.0.lock();
        frames.retain(|_, frame| frame.strong_count() > 0);
        frames.insert(id, Arc::downgrade(&frame));
        Ok(frame)
    }
}

impl Frame {
    /// The frame from this byte on, held until the connection drops it.
    pub(crate) fn piece(self: Arc<Self>, from: usize, turn: Turn) -> Bytes {
        Bytes::from_owner(Piece {
            from: from.min(self.text.as_ref().len()),
            frame: self,
            _turn: turn,
        })
    }
}

struct Piece {
    frame: Arc<Frame>,
    from: usize,
    _turn: Turn,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.frame.text.as_ref()[self.from..]
    }
}
