//! A bounded buffer for the end of an unbounded output.

/// Keeps the last bytes pushed into it, and counts all of them.
#[derive(Debug)]
pub struct OutputTail {
    bytes: Vec<u8>,
    max: usize,
    total: u64,
}

impl OutputTail {
    /// Keeps at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), max, total: 0 }
    }

    pub fn push(&mut self, more: &[u8]) {
        self.total += more.len() as u64;
        self.bytes.extend_from_slice(&more[more.len().saturating_sub(self.max)..]);
        // The buffer grows to twice the size before it is cut, so that each byte moves at most
        // once.
        if self.bytes.len() > self.max * 2 {
            self.shorten();
        }
    }

    /// The number of bytes ever pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The kept text, with a note about the bytes left out.
    pub fn into_text(mut self) -> String {
        self.shorten();
        let kept = String::from_utf8_lossy(&self.bytes);
        match self.total - self.bytes.len() as u64 {
            0 => kept.into_owned(),
            left_out => format!("[... {left_out} bytes omitted ...]\n{kept}"),
        }
    }

    /// The number of bytes left out, and the kept bytes.
    pub fn into_bytes(mut self) -> (u64, Vec<u8>) {
        self.shorten();
        (self.total - self.bytes.len() as u64, self.bytes)
    }

    fn shorten(&mut self) {
        let over = self.bytes.len().saturating_sub(self.max);
        self.bytes.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole() {
        let mut tail = OutputTail::new(8);
        tail.push(b"abc");
        tail.push(b"def");
        assert_eq!((tail.total(), tail.into_text().as_str()), (6, "abcdef"));
    }

    #[test]
    fn the_end_of_a_long_text_is_kept_for_any_chunking() {
        for size in [1, 3, 7, 100] {
            let mut tail = OutputTail::new(4);
            for chunk in b"0123456789".chunks(size) {
                tail.push(chunk);
            }
            assert_eq!(tail.total(), 10);
            assert_eq!(tail.into_text(), "[... 6 bytes omitted ...]\n6789", "chunks of {size}");
        }
    }
}
