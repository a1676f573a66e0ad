//! Numbers for the lines of a diff, which replace the lines that begin with `@@`.
//!
//! Only a complete diff gets numbers, so that its display determines the whole diff. Other text is drawn as written.

use crate::DiffLine;

/// A line of a diff with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedLine {
    /// The kind of the line.
    pub says: DiffLine,
    /// The line's number in the old file; `None` for an added line.
    pub old: Option<usize>,
    /// The line's number in the new file; `None` for a removed line.
    pub new: Option<usize>,
}

impl NumberedLine {
    fn without(says: DiffLine) -> NumberedLine {
        NumberedLine { says, old: None, new: None }
    }

    /// Returns the line's number in the new file, or in the old file if the line is removed. `None` if the line belongs
    /// to no hunk.
    pub fn number(&self) -> Option<usize> {
        self.new.or(self.old)
    }
}

/// The position of a hunk in one file: its first line and its number of lines.
#[derive(Clone, Copy)]
struct Side {
    first: usize,
    count: usize,
}

/// Parses the lines of a diff and numbers them. Returns `None` if a hunk does not match its header.
///
/// ```
/// use askuser_markdown::numbered;
///
/// let lines = numbered("--- a/x\n+++ b/x\n@@ -7,2 +7 @@\n kept\n-gone").unwrap();
/// assert_eq!(lines.iter().map(|line| line.number()).collect::<Vec<_>>(), [None, None, None, Some(7), Some(8)]);
/// assert!(numbered("@@ -7,2 +7,2 @@\n kept").is_none());
/// ```
pub fn numbered(diff: &str) -> Option<Vec<NumberedLine>> {
    let mut numbered = Vec::new();
    let mut lines = diff.split('\n').peekable();
    // The offset of the new file's line numbers from the old file's.
    let mut ahead = 0_isize;
    while let Some(line) = lines.next() {
        if !line.starts_with("@@") {
            // The header of the next file.
            if line.starts_with("--- ") {
                ahead = 0;
            }
            let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
            // The hunk is longer than its header says.
            if !is_name && line.starts_with([' ', '+', '-']) {
                return None;
            }
            numbered.push(NumberedLine::without(DiffLine::of(line)));
            continue;
        }
        let (mut old, mut new) = place(line)?;
        numbered.push(NumberedLine::without(DiffLine::Place));
        if old.first.checked_add_signed(ahead)? != new.first {
            return None;
        }
        while old.count > 0 || new.count > 0 {
            let says = match lines.next()?.bytes().next()? {
                b' ' => DiffLine::Kept,
                b'+' => DiffLine::Added,
                b'-' => DiffLine::Removed,
                b'\\' => {
                    numbered.push(NumberedLine::without(DiffLine::Kept));
                    continue;
                }
                _ => return None,
            };
            let in_old = (says != DiffLine::Added).then_some(old.first);
            let in_new = (says != DiffLine::Removed).then_some(new.first);
            numbered.push(NumberedLine { says, old: in_old, new: in_new });
            if says != DiffLine::Added {
                (old.first, old.count) = (old.first + 1, old.count.checked_sub(1)?);
            }
            if says != DiffLine::Removed {
                (new.first, new.count) = (new.first + 1, new.count.checked_sub(1)?);
            }
            ahead += isize::from(says == DiffLine::Added) - isize::from(says == DiffLine::Removed);
        }
        while lines.next_if(|line| line.starts_with('\\')).is_some() {
            numbered.push(NumberedLine::without(DiffLine::Kept));
        }
    }
    numbered.iter().any(|line| line.number().is_some()).then_some(numbered)
}

/// Parses a header such as `@@ -7,2 +7 @@ words`. Returns `None` for any spelling but the canonical one.
fn place(line: &str) -> Option<(Side, Side)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
        let written = if count == 1 { first.to_string() } else { format!("{first},{count}") };
        // An empty range gives the number of the line before it.
        (written == text && first < 1 << 40 && count < 1 << 40)
            .then_some(Side { first: first + usize::from(count == 0), count })
    };
    Some((side(old)?, side(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of each line, and 0 for a line without a number. `None` if the diff is invalid.
    fn numbers(diff: &str) -> Option<Vec<usize>> {
        Some(numbered(diff)?.into_iter().map(|line| line.number().unwrap_or(0)).collect())
    }

    #[test]
    fn lines_have_the_number_of_the_file_they_are_in() {
        let diff = "--- a/x\n+++ b/x\n@@ -2,3 +2,4 @@\n two\n-three\n+3\n+3.5\n four\n@@ -20,2 +21 @@ fn f()\n a\n-b";
        assert_eq!(numbers(diff), Some(vec![0, 0, 0, 2, 3, 3, 4, 5, 0, 21, 21]));
        let made = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file";
        assert_eq!(numbers(made), Some(vec![0, 0, 0, 1, 2, 0]));
        let two = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b";
        assert_eq!(numbers(two), Some(vec![0, 0, 0, 1, 2, 0, 0, 0, 5, 5]));
    }

    #[test]
    fn what_goes_and_begins_with_a_dash_is_no_name_of_a_file() {
        let says = numbered("@@ -1,2 +1 @@\n--- x\n a").unwrap().into_iter().map(|line| line.says).collect::<Vec<_>>();
        assert_eq!(says, [DiffLine::Place, DiffLine::Removed, DiffLine::Kept]);
    }

    #[test]
    fn a_diff_that_is_not_what_it_says_has_no_numbers() {
        for diff in [
            "",
            "-a\n+b",
            "@@ -1 +1 @@\n-a",
            "@@ -1 +1 @@\n-a\n-b",
            "@@ -1 +1 @@\n a\n+b",
            "@@ -1,1 +1 @@\n-a\n+b",
            "@@ -01 +1 @@\n-a\n+b",
            "@@ -1 +2 @@\n-a\n+b",
            "@@ -1 +1 @@\n-a\n+b\n@@ -9 +8 @@\n-a\n+b",
            "@@ -1,2 +1,2 @@\n-a\n+b\n",
            "@@ -99999999999999999999 +1 @@\n-a\n+b",
        ] {
            assert_eq!(numbers(diff), None, "{diff:?}");
        }
    }
}
