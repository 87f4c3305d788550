//! Known values, compared with the simplest possible search.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prop::sample::Index;

use super::*;

/// Masks every occurrence of every encoding.
fn masked(values: &[String], text: &str) -> Vec<u8> {
    let mut masked = text.as_bytes().to_vec();
    for encoding in encodings(&values::usable(values)) {
        for at in 0..text.len() {
            if text.as_bytes()[at..].starts_with(&encoding) {
                cover(&mut masked, at..at + encoding.len());
            }
        }
    }
    masked
}

proptest! {
    #[test]
    fn exactly_the_known_values_are_masked_in_chunks_of_any_size(
        values in prop::collection::vec("[a-cA-C0-2/+ü ]{8,40}|[a-zA-Z0-9]{8,200}", 1..40),
        pieces in prop::collection::vec(("[a-c .=é]{0,50}\n?", any::<Index>(), 0_usize..4), 0..20),
        sizes in prop::collection::vec(1_usize..60, 1..6),
    ) {
        let mut text = String::new();
        for (between, index, written) in pieces {
            text.push_str(&between);
            let value = index.get(&values);
            match written {
                0 => text.push_str(value),
                // In base64 at each of the three positions.
                shift => text.push_str(&STANDARD.encode(format!("{}{value}", &"zz"[shift - 1..]))),
            }
        }
        let secrets = Secrets::new(&values, [""; 0]).unwrap().without_forms();
        let expected = masked(&values, &text);
        prop_assert_eq!(&*secrets.mask_bytes(text.as_bytes()), &expected[..]);
        prop_assert_eq!(streamed(&secrets, text.as_bytes(), &sizes), expected);
    }
}
