//! JSON on its way to standard output.

/// JSON that does nothing to a terminal it ends up on: what a model wrote and nobody can see is spelled out. To whoever
/// parses it, it is the same.
pub fn harmless(json: &serde_json::Value) -> String {
    let text = json.to_string();
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
            // Fillers that are drawn as nothing.
            || matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}')
    };
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fillers_that_are_drawn_as_nothing_are_spelled_out() {
        let value = json!("\u{115f}\u{1160}\u{17b4}\u{17b5}\u{3164}\u{ffa0}");
        assert_eq!(harmless(&value), r#""\u115f\u1160\u17b4\u17b5\u3164\uffa0""#);
    }

    #[test]
    fn json_on_a_terminal_has_nothing_invisible_and_means_the_same() {
        let value = json!({"a\u{9b}2J": ["\u{7f}\u{202e}é数", "\u{e0041}👨\u{200d}👩 \\ \" \n"]});
        let text = harmless(&value);
        let expected = "{\"a\\u009b2J\":[\"\\u007f\\u202eé数\",\"\\udb40\\udc41👨\u{200d}👩 \\\\ \\\" \\n\"]}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
