//! CRC-32C (Castagnoli): the checksum at the end of every journal line.
//!
//! It detects every flipped byte and every burst of up to 32 bits, which are the usual disk errors.
//! It does not protect against deliberate changes.

/// The polynomial, bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The number of bytes processed at a time. A resume reads the whole journal, and a checksum byte
/// by byte would take a noticeable part of that.
const STRIDE: usize = 16;

/// `TABLES[k][b]` is the effect of byte `b` on the checksum when `k` bytes follow it in the stride.
static TABLES: [[u32; 256]; STRIDE] = tables();

/// The checksum of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let (strides, rest) = bytes.as_chunks::<STRIDE>();
    let mut crc = !0_u32;
    for stride in strides {
        // The checksum so far is combined with the first four bytes.
        let bytes = (u128::from_le_bytes(*stride) ^ u128::from(crc)).to_le_bytes();
        let tables = TABLES.iter().rev();
        crc = tables.zip(bytes).fold(0, |crc, (table, byte)| crc ^ table[usize::from(byte)]);
    }
    for byte in rest {
        let [low, ..] = crc.to_le_bytes();
        crc = (crc >> 8) ^ TABLES[0][usize::from(low ^ byte)];
    }
    !crc
}

const fn tables() -> [[u32; 256]; STRIDE] {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0_u32;
    while byte < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte as usize] = crc;
        byte += 1;
    }
    let mut following = 1;
    while following < STRIDE {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[following - 1][byte];
            tables[following][byte] = (crc >> 8) ^ tables[0][(crc & 0xFF) as usize];
            byte += 1;
        }
        following += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, bit by bit.
    fn by_definition(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (POLYNOMIAL * (crc & 1)))
        })
    }

    #[test]
    fn the_published_check_values_come_out() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(b""), 0);
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0x00; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
    }

    #[test]
    fn every_length_gives_what_the_definition_gives() {
        let bytes: Vec<u8> = (0..100_u8).map(|n| n.wrapping_mul(37) ^ 0x5A).collect();
        for length in 0..bytes.len() {
            assert_eq!(crc32c(&bytes[..length]), by_definition(&bytes[..length]), "{length}");
        }
    }
}
