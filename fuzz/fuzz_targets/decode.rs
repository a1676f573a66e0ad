//! Any bytes from a terminal: how they are cut makes no difference, and no key types a control character.
#![no_main]

use askuser::KeyCode;
use askuser_terminal::{Decoder, TerminalInput};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [cut, bytes @ ..] = bytes else { return };
    let whole = decode([bytes]);
    assert_eq!(decode(bytes.chunks(usize::from(*cut % 7) + 1)), whole);
    for input in &whole {
        if let TerminalInput::Key(key) = input
            && let KeyCode::Char(c) = key.code
        {
            assert!(!c.is_control(), "{key:?}");
        }
    }
});

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<TerminalInput> {
    let (mut decoder, mut inputs) = (Decoder::default(), Vec::new());
    chunks.into_iter().for_each(|chunk| decoder.feed(chunk, &mut inputs));
    decoder.flush(&mut inputs);
    inputs
}
