//! Blocker keys: the first digits of the MD5 of the text. They only distinguish texts, and are not
//! for security.

use std::fmt::Write;

use crate::stream::report::Blocker;

/// The number of digits that distinguishes the blockers of a run.
const KEY_DIGITS: usize = 8;

/// The blocker with this text. Surrounding white space does not matter.
pub fn blocker(text: &str) -> Blocker {
    let text = text.trim();
    let mut key = md5_hex(text.as_bytes());
    key.truncate(KEY_DIGITS);
    Blocker { key, text: text.to_owned() }
}

fn md5_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in md5(bytes) {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The rotations of each round of a block.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// RFC 1321: the integer part of 2^32 times the sine of 1 to 64.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() < bytes.len() + 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len();
    let bits = (bytes.len() as u64).wrapping_mul(8);
    padded[length - 8..].copy_from_slice(&bits.to_le_bytes());
    for block in padded.as_chunks::<64>().0 {
        state = add_block(state, block);
    }
    let mut digest = [0; 16];
    for (place, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *place = word.to_le_bytes();
    }
    digest
}

#[expect(clippy::many_single_char_names, reason = "the names of RFC 1321")]
fn add_block(state: [u32; 4], block: &[u8; 64]) -> [u32; 4] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d] = state;
    for (step, sine) in SINES.iter().enumerate() {
        let (f, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let sum = a.wrapping_add(f).wrapping_add(*sine).wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
    }
    let [e, f, g, h] = state;
    [e.wrapping_add(a), f.wrapping_add(b), g.wrapping_add(c), h.wrapping_add(d)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_are_those_of_the_standard() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f",
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(md5_hex(text.as_bytes()), digest, "{text}");
        }
    }

    /// Where the length no longer fits into the last block.
    #[test]
    fn texts_of_every_length_around_a_block_have_their_own_digest() {
        let digests: std::collections::BTreeSet<_> =
            (0..200).map(|length| md5_hex(&vec![b'a'; length])).collect();
        assert_eq!(digests.len(), 200);
        assert_eq!(md5_hex(&[b'a'; 56]), "3b0c8ac703f828b04c6c197006d17218");
        assert_eq!(md5_hex(&[b'a'; 64]), "014842d480b571495a4a0363793f7367");
    }

    #[test]
    fn blanks_around_a_text_make_no_other_blocker_of_it() {
        let plain = blocker("abc");
        assert_eq!((&*plain.key, &*plain.text), ("90015098", "abc"));
        assert_eq!(blocker(" \r\n abc\t"), plain);
        assert_ne!(blocker("Abc").key, plain.key);
    }
}
