//! HTTP/3: header compression.

use candor_protocol::h3::qpack::{Block, Decoder, Error, Section};

type List = Vec<(Vec<u8>, Vec<u8>)>;

/// The largest table of a connection: what is evicted matters.
const TABLE_BYTES: u32 = 256;

fn decode(decoder: &mut Decoder, section: &[u8]) -> Result<(Section, List), Error> {
    let mut list = List::new();
    let read = decoder.decode(section, |name, value| list.push((name.to_vec(), value.to_vec())))?;
    Ok((read, list))
}

/// Instructions and field sections of one connection, each with its length in a byte, whose highest bit says which it is:
/// instructions byte by byte are as the whole, and our form of the fields of a section decodes to them.
pub(crate) fn qpack(mut bytes: &[u8]) {
    let (mut whole, mut cut) = (Decoder::new(TABLE_BYTES), Decoder::new(TABLE_BYTES));
    while let [length, rest @ ..] = bytes {
        let (part, after) = rest.split_at(rest.len().min(usize::from(length & 0x7f)));
        bytes = after;
        if length & 0x80 != 0 {
            let done = whole.handle_instructions(part);
            let each = part.iter().try_for_each(|byte| cut.handle_instructions(&[*byte]));
            assert_eq!(done, each);
            if done.is_err() {
                return;
            }
            assert_eq!(whole.take_untold(), cut.take_untold());
            continue;
        }
        let read = decode(&mut whole, part);
        assert_eq!(read, decode(&mut cut, part));
        let Ok((Section::Read { .. }, list)) = read else { return };
        let mut block = Block::default();
        list.iter().for_each(|(name, value)| block.push(name, value));
        let plain = Ok((Section::Read { acknowledge: false }, list));
        assert_eq!(decode(&mut Decoder::new(0), block.bytes()), plain);
    }
}
