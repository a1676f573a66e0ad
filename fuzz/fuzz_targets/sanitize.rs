//! Any text: what comes through the gate is printable, and coming through twice changes nothing more. What is agreed to is
//! shown whole, and as safely.
#![no_main]

use askuser::verbatim::{Charset, read, shown};
use askuser::sanitize::{block, is_blank, line, typed};
use libfuzzer_sys::fuzz_target;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

fuzz_target!(|text: &str| {
    let (one, many) = (line(text), block(text));
    assert!(!one.contains('\n'));
    for out in [&one, &many] {
        assert!(!out.chars().any(acts), "{out:?}");
        for cluster in out.graphemes(true).filter(|cluster| *cluster != "\n") {
            assert!(cluster.width() > 0 && cluster.len() <= 64, "{cluster:?} in {out:?}");
        }
    }
    assert_eq!(line(&one), one);
    assert_eq!(block(&many), many);
    assert_eq!(block(&one), one);
    assert_eq!(typed(text), many);
    assert_eq!(is_blank(text), is_blank(&one));
    let whole = shown(text, Charset::Utf8);
    assert_eq!(read(&whole), text);
    assert_eq!(block(&whole), whole);
    assert_eq!(read(&shown(text, Charset::Ascii)), text);
});

/// Whether a scalar could do something to a terminal, or reorder text, rather than be seen.
fn acts(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}
