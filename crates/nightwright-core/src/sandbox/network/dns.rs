//! The little DNS that programs inside need: one question for one name.

use core::net::Ipv4Addr;

use super::Host;

/// The size of the header of a message.
const HEADER: usize = 12;
/// The type of an IPv4 address.
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
/// How long programs may keep an answer, in seconds.
const TIME_TO_LIVE: u32 = 60;
/// The largest message that is read. A question for one name is smaller.
pub const MAX_MESSAGE: usize = 512;

/// A question to a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name, in lower case.
    pub name: String,
    /// Whether it asks for an IPv4 address.
    pub wants_address: bool,
    /// The end of the question in the message.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Address(Ipv4Addr),
    /// The name exists, without data of this type.
    NoData,
    NoSuchName,
    /// The resolver of the host failed.
    Failed,
}

/// Reads a question. Returns `None` for anything else.
pub fn question(message: &[u8]) -> Option<Question> {
    let header = message.get(..HEADER)?;
    // A response, or another operation than a query.
    if header[2] & 0b1111_1000 != 0 || header[4..6] != [0, 1] {
        return None;
    }
    let mut name = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        match length {
            0 => break,
            1..=63 => {
                name.extend_from_slice(message.get(at..at + length)?);
                name.push(b'.');
                at += length;
            }
            // A reference to another name, which a question has no use for.
            _ => return None,
        }
    }
    let [kind_high, kind_low, class_high, class_low] = *message.get(at..at + 4)? else {
        return None;
    };
    if u16::from_be_bytes([class_high, class_low]) != CLASS_IN {
        return None;
    }
    let text = String::from_utf8(name).ok()?;
    let name = match text.parse() {
        Ok(Host::Name(name)) => name,
        // The answer to such a question is always the same.
        Ok(Host::Address(_)) | Err(_) => String::new(),
    };
    let kind = u16::from_be_bytes([kind_high, kind_low]);
    Some(Question { name, wants_address: kind == TYPE_A, end: at + 4 })
}

/// Writes the answer to the question of a message.
pub fn reply(message: &[u8], question: &Question, answer: Answer) -> Vec<u8> {
    let code = match answer {
        Answer::Address(_) | Answer::NoData => 0,
        Answer::Failed => 2,
        Answer::NoSuchName => 3,
    };
    let mut reply = message[..question.end].to_vec();
    // A response, with the flag of the question for recursion.
    reply[2] = 0b1000_0000 | (message[2] & 1);
    // Recursion is available.
    reply[3] = 0b1000_0000 | code;
    reply[4..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    if let Answer::Address(address) = answer {
        reply[7] = 1;
        // The name of the question.
        reply.extend_from_slice(&[0xc0, 12]);
        reply.extend_from_slice(&TYPE_A.to_be_bytes());
        reply.extend_from_slice(&CLASS_IN.to_be_bytes());
        reply.extend_from_slice(&TIME_TO_LIVE.to_be_bytes());
        reply.extend_from_slice(&[0, 4]);
        reply.extend_from_slice(&address.octets());
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, 1];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
        message.extend_from_slice(&kind.to_be_bytes());
        message.extend_from_slice(&[0, 1]);
        // The additional record of EDNS, which is ignored.
        message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        message
    }

    #[test]
    fn a_question_for_an_address_is_answered_with_one() {
        let message = query("Example.com", 1);
        let asked = question(&message).unwrap();
        assert_eq!((asked.name.as_str(), asked.wants_address), ("example.com", true));
        let reply = reply(&message, &asked, Answer::Address(Ipv4Addr::new(198, 18, 1, 0)));
        assert_eq!(reply[..12], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(reply[12..asked.end], message[12..asked.end], "the spelling is kept");
        let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 1, 0];
        assert_eq!(reply[asked.end..], record);
    }

    #[test]
    fn other_answers_have_a_code_and_no_record() {
        let message = query("example.com", 28);
        let asked = question(&message).unwrap();
        assert!(!asked.wants_address);
        for (answer, code) in [(Answer::NoData, 0), (Answer::Failed, 2), (Answer::NoSuchName, 3)] {
            let reply = reply(&message, &asked, answer);
            assert_eq!((reply[3] & 15, reply[7], reply.len()), (code, 0, asked.end));
        }
    }

    #[test]
    fn a_name_that_no_host_can_have_is_empty() {
        for name in ["a b.example", "127.0.0.1", "-a"] {
            assert_eq!(question(&query(name, 1)).unwrap().name, "", "{name}");
        }
    }

    #[test]
    fn no_prefix_and_no_single_wrong_byte_panics() {
        let message = query("example.com", 1);
        for end in 0..=message.len() {
            let asked = question(&message[..end]);
            assert_eq!(asked.is_some(), end >= 29, "{end}");
        }
        for place in 0..message.len() {
            for byte in 0..=255 {
                let mut wrong = message.clone();
                wrong[place] = byte;
                if let Some(asked) = question(&wrong) {
                    reply(&wrong, &asked, Answer::NoData);
                }
            }
        }
    }
}
