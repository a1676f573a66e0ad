//! Folds long pastes. The draft shows `[pasted 120 lines]` in place of a paste, and the message contains the whole
//! paste. A fold is deleted as one, and the caret does not stop inside it.

use askuser::sanitize;
use std::ops::Range;

/// The limits in lines and characters above which a paste is folded.
const MAX_LINES: usize = 10;
const MAX_CHARS: usize = 1_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pastes(Vec<Paste>);

#[derive(Clone, Debug)]
struct Paste {
    /// The unique label that replaces the paste in the draft.
    label: String,
    text: String,
}

impl Pastes {
    /// Stores a paste if it is long. Returns its label for the draft; `None` for a short paste.
    pub(crate) fn fold(&mut self, pasted: &str, draft: &str) -> Option<String> {
        let text = sanitize::typed(pasted);
        let lines = text.lines().count();
        let chars = text.chars().count();
        let size = match (lines > MAX_LINES, chars > MAX_CHARS) {
            (true, _) => format!("{lines} lines"),
            (false, true) => format!("{chars} characters"),
            (false, false) => return None,
        };
        let numbered = (2..).map(|n| format!("[pasted {size}, {n}]"));
        let is_free = |label: &String| !draft.contains(label) && self.0.iter().all(|paste| paste.label != *label);
        let label = std::iter::once(format!("[pasted {size}]")).chain(numbered).find(is_free)?;
        self.0.push(Paste { label: label.clone(), text });
        Some(label)
    }

    /// Removes the last paste, because the draft did not accept its label.
    pub(crate) fn unfold_last(&mut self) {
        self.0.pop();
    }

    /// Returns the ranges of folds in a draft, in order.
    pub(crate) fn ranges(&self, draft: &str) -> Vec<Range<usize>> {
        let of = |paste: &Paste| draft.find(&paste.label).map(|start| start..start + paste.label.len());
        let mut ranges: Vec<Range<usize>> = self.0.iter().filter_map(of).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    pub(crate) fn expand(&self, draft: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for range in self.ranges(draft) {
            let text = self.0.iter().find(|paste| paste.label == draft[range.clone()]).map(|paste| &*paste.text);
            out.push_str(&draft[at..range.start]);
            out.push_str(text.unwrap_or_default());
            at = range.end;
        }
        out + &draft[at..]
    }

    /// Removes the pastes whose labels are not in a draft.
    pub(crate) fn retain_in(&mut self, draft: &str) {
        self.0.retain(|paste| draft.contains(&paste.label));
    }
}
