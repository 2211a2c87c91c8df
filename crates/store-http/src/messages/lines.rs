use std::io::{self, Write as _};

use bytes::{Buf as _, Bytes};
use flate2::write::MultiGzDecoder;

/// How many compressed bytes are decoded at once. They can grow by a factor of about 1,000.
const DECODE_BYTES: usize = 4 << 10;

/// Splits a body, compressed or not, into lines. Holds the complete lines that were not taken yet,
/// and an incomplete line up to a limit.
pub(super) struct Lines {
    text: Text,
    /// The current piece's bytes that are not decoded yet.
    pending: Bytes,
    /// End of the last complete line.
    whole: usize,
    limit: usize,
}

enum Text {
    Plain(Vec<u8>),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Lines {
    /// `limit` is the maximum length of a line in bytes.
    pub(super) fn new(is_gzip: bool, limit: usize) -> Self {
        Self {
            text: match is_gzip {
                false => Text::Plain(Vec::new()),
                true => Text::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            },
            pending: Bytes::new(),
            whole: 0,
            limit,
        }
    }

    /// Adds the next piece. The previous one must be used up.
    pub(super) fn push(&mut self, piece: Bytes) {
        self.pending = piece;
    }

    /// Takes complete lines of at least `bytes` bytes in total, or `None` if another piece is
    /// needed.
    ///
    /// # Errors
    /// A description of what is wrong with the body.
    pub(super) fn part(&mut self, bytes: usize) -> Result<Option<Vec<u8>>, String> {
        while self.whole < bytes && !self.pending.is_empty() {
            let before = self.text.decoded().len();
            self.text
                .decode(&mut self.pending)
                .map_err(|failed| malformed(&failed))?;
            let decoded = self.text.decoded();
            let new = &decoded[before..];
            if let Some(end) = new.iter().rposition(|&byte| byte == b'\n') {
                self.whole = before + end + 1;
            }
            // Checked after every step, so a huge line is rejected before it fills the memory.
            if decoded.len() - self.whole > self.limit {
                return Err(format!("a line has more than {} bytes", self.limit));
            }
        }
        Ok((self.whole >= bytes).then(|| self.take()))
    }

    /// Takes the rest at the end of the body. The last line needs no line feed.
    ///
    /// # Errors
    /// A description of what is wrong with the body.
    pub(super) fn rest(&mut self) -> Result<Vec<u8>, String> {
        if let Text::Gzip(decoder) = &mut self.text {
            decoder.try_finish().map_err(|failed| malformed(&failed))?;
        }
        self.whole = self.text.decoded().len();
        Ok(self.take())
    }

    fn take(&mut self) -> Vec<u8> {
        let decoded = self.text.decoded();
        let incomplete = decoded.split_off(self.whole);
        self.whole = 0;
        std::mem::replace(decoded, incomplete)
    }
}

impl Text {
    fn decoded(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Plain(text) => text,
            Self::Gzip(decoder) => decoder.get_mut(),
        }
    }

    fn decode(&mut self, pending: &mut Bytes) -> io::Result<()> {
        match self {
            Self::Plain(text) => {
                text.extend_from_slice(pending);
                pending.clear();
            }
            Self::Gzip(decoder) => {
                let input = &pending[..pending.len().min(DECODE_BYTES)];
                decoder.write_all(input)?;
                // Without a flush, the decoder holds back decoded bytes, and the limit check misses
                // them.
                decoder.flush()?;
                pending.advance(input.len());
            }
        }
        Ok(())
    }
}

fn malformed(failed: &io::Error) -> String {
    format!("malformed gzip: {failed}")
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// The parts of a body that arrives in pieces of this size.
    fn parts(body: &[u8], piece: usize, is_gzip: bool) -> Result<Vec<Vec<u8>>, String> {
        let mut lines = Lines::new(is_gzip, 1000);
        let mut parts = Vec::new();
        for piece in body.chunks(piece) {
            lines.push(Bytes::copy_from_slice(piece));
            while let Some(part) = lines.part(100)? {
                assert_eq!(part.last(), Some(&b'\n'));
                assert!(part.len() >= 100);
                parts.push(part);
            }
        }
        parts.push(lines.rest()?);
        Ok(parts)
    }

    #[test]
    fn lines_are_complete_for_any_piece_size() {
        let text: String = (0..500).map(|number| format!("line {number}\n")).collect();
        let text = text + "the last";
        for piece in [1, 7, 1000, 100_000] {
            for is_gzip in [false, true] {
                let body = match is_gzip {
                    false => text.as_bytes().to_vec(),
                    true => gzip(text.as_bytes()),
                };
                let parts = parts(&body, piece, is_gzip).unwrap();
                assert_eq!(parts.concat(), text.as_bytes());
                assert!(parts.last().unwrap().ends_with(b"the last"));
            }
        }
    }

    #[test]
    fn concatenated_gzip_files_are_read_as_one() {
        let body = [gzip(b"one\n"), gzip(b"two\n")].concat();
        assert_eq!(parts(&body, 5, true).unwrap().concat(), b"one\ntwo\n");
    }

    #[test]
    fn endless_line_is_rejected_before_it_fills_the_memory() {
        let endless = vec![b'x'; 64 << 20];
        let mut lines = Lines::new(true, 1000);
        lines.push(gzip(&endless).into());
        assert!(
            lines
                .part(100)
                .unwrap_err()
                .contains("more than 1000 bytes")
        );
        // One step decodes to at most about 1,000 times its size.
        assert!(lines.text.decoded().len() < 8 << 20);
        assert!(parts(&endless[..1001], 100, false).is_err());
    }

    #[test]
    fn truncated_or_malformed_gzip_is_rejected() {
        let whole = gzip(b"one\ntwo\n");
        for body in [&whole[..whole.len() - 1], &whole[..5], b"one\ntwo\n", b""] {
            assert!(parts(body, 3, true).is_err());
        }
    }
}
