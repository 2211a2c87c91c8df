use std::io::{self, Write as _};

use bytes::{Buf as _, Bytes};
use flate2::write::MultiGzDecoder;

/// How much of a compressed body is decoded at once: it may be a thousand times as much.
const STEP: usize = 4 << 10;

/// The lines of a body that comes in pieces, compressed or not. What is held is the whole lines
/// that were not taken yet, and one that is not whole, up to a limit.
pub(super) struct Lines {
    text: Text,
    /// What was given and is not decoded yet.
    pending: Bytes,
    /// Where the last whole line ends.
    whole: usize,
    limit: usize,
}

enum Text {
    Plain(Vec<u8>),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Lines {
    /// A line may have so many bytes.
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

    /// Takes the next piece, once the one before is used up.
    pub(super) fn push(&mut self, piece: Bytes) {
        self.pending = piece;
    }

    /// Whole lines of at least so many bytes together, `None` where the next piece is needed.
    ///
    /// # Errors
    /// What is wrong with the body.
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
            if decoded.len() - self.whole > self.limit {
                return Err(format!("a line has more than {} bytes", self.limit));
            }
        }
        Ok((self.whole >= bytes).then(|| self.take()))
    }

    /// What is left at the end of the body, the last line without its line feed included.
    ///
    /// # Errors
    /// As [`Lines::part`].
    pub(super) fn rest(&mut self) -> Result<Vec<u8>, String> {
        if let Text::Gzip(decoder) = &mut self.text {
            decoder.try_finish().map_err(|failed| malformed(&failed))?;
        }
        self.whole = self.text.decoded().len();
        Ok(self.take())
    }

    fn take(&mut self) -> Vec<u8> {
        let decoded = self.text.decoded();
        let begun = decoded.split_off(self.whole);
        self.whole = 0;
        std::mem::replace(decoded, begun)
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
                let step = &pending[..pending.len().min(STEP)];
                decoder.write_all(step)?;
                decoder.flush()?;
                pending.advance(step.len());
            }
        }
        Ok(())
    }
}

fn malformed(failed: &io::Error) -> String {
    format!("it is no gzip file: {failed}")
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

    /// The parts of a body that comes in pieces of this size.
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
    fn lines_come_out_whole_however_they_come_in() {
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
    fn two_files_one_after_the_other_are_one() {
        let body = [gzip(b"one\n"), gzip(b"two\n")].concat();
        assert_eq!(parts(&body, 5, true).unwrap().concat(), b"one\ntwo\n");
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_is_in_memory() {
        let endless = vec![b'x'; 64 << 20];
        let mut lines = Lines::new(true, 1000);
        lines.push(gzip(&endless).into());
        assert!(
            lines
                .part(100)
                .unwrap_err()
                .contains("more than 1000 bytes")
        );
        // One step decodes at most about a thousand times its size.
        assert!(lines.text.decoded().len() < 8 << 20);
        assert!(parts(&endless[..1001], 100, false).is_err());
    }

    #[test]
    fn a_file_that_is_cut_off_or_is_none_is_refused() {
        let whole = gzip(b"one\ntwo\n");
        for body in [&whole[..whole.len() - 1], &whole[..5], b"one\ntwo\n", b""] {
            assert!(parts(body, 3, true).is_err());
        }
    }
}
