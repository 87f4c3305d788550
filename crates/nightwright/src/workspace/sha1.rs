//! SHA-1, by which most repositories name their contents. It keeps nobody out: whoever can make up
//! two files of one name can write to the project anyway.

/// A hash in the making.
#[derive(Clone, Debug)]
pub(super) struct Sha1 {
    state: [u32; 5],
    /// Bytes so far.
    length: u64,
    /// The beginning of a block that is not whole yet.
    block: [u8; 64],
}

impl Default for Sha1 {
    fn default() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Self { state, length: 0, block: [0; 64] }
    }
}

impl Sha1 {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        let filled = (self.length % 64) as usize;
        self.length += bytes.len() as u64;
        if filled > 0 {
            let taken = bytes.len().min(64 - filled);
            self.block[filled..filled + taken].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if filled + taken < 64 {
                return;
            }
            compress(&mut self.state, &self.block);
        }
        let (blocks, rest) = bytes.as_chunks::<64>();
        for block in blocks {
            compress(&mut self.state, block);
        }
        self.block[..rest.len()].copy_from_slice(rest);
    }

    pub(super) fn finish(mut self) -> [u8; 20] {
        let bits = self.length * 8;
        self.update(&[0x80]);
        while self.length % 64 != 56 {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        let mut hash = [0; 20];
        for (place, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *place = word.to_be_bytes();
        }
        hash
    }
}

fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for i in 16..80 {
        words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
    }
    let mut v = *state;
    for (i, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match i {
            0..20 => ((v[1] & v[2]) | (!v[1] & v[3]), 0x5a82_7999),
            20..40 => (v[1] ^ v[2] ^ v[3], 0x6ed9_eba1),
            40..60 => ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]), 0x8f1b_bcdc),
            _ => (v[1] ^ v[2] ^ v[3], 0xca62_c1d6_u32),
        };
        let next = v[0]
            .rotate_left(5)
            .wrapping_add(mixed)
            .wrapping_add(v[4])
            .wrapping_add(constant)
            .wrapping_add(word);
        v = [next, v[0], v[1].rotate_left(30), v[2], v[3]];
    }
    for (sum, word) in state.iter_mut().zip(v) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    fn sha1(bytes: &[u8], piece: usize) -> String {
        let mut hasher = Sha1::default();
        for chunk in bytes.chunks(piece) {
            hasher.update(chunk);
        }
        hex(&hasher.finish())
    }

    #[test]
    fn the_published_examples_come_out() {
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let million = vec![b'a'; 1_000_000];
        let cases: [(&[u8], &str); 4] = [
            (b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (two_blocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
            (&million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ];
        for (bytes, hash) in cases {
            for piece in [1, 3, 63, 64, 65, 1000] {
                assert_eq!(sha1(bytes, piece), hash, "{} bytes by {piece}", bytes.len());
            }
        }
    }
}
