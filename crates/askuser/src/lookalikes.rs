//! Compares texts that look alike to a person: labels, questions, and imitations of Other.
//!
//! Texts in plain ASCII, as nearly all labels are, are compared without Unicode tables.

use unicode_normalization::UnicodeNormalization;

/// Whether two safe texts look the same to a person.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        return a.eq_ignore_ascii_case(b);
    }
    // Look-alike letters are compared case-sensitively: `Н` looks like `H`, but `н` does not look like `h`.
    a.nfkc().flat_map(lower).eq(b.nfkc().flat_map(lower)) || a.nfkc().map(latin).eq(b.nfkc().map(latin))
}

/// Whether a safe label without "(Recommended)" imitates the built-in Other.
pub(crate) fn is_other(name: &str) -> bool {
    // "Other (please specify)" is Other too; "Other database" is not.
    let folded: String =
        if name.is_ascii() { name.to_ascii_lowercase() } else { name.nfkc().map(latin).flat_map(lower).collect() };
    let word = folded.trim_start_matches(is_decoration);
    let word = word.split(BRACKETS).next().unwrap_or_default();
    let word = word.trim_end_matches(|c| is_decoration(c) || matches!(c, '.' | ':' | ',' | ';' | '!' | '?' | '-'));
    // A person reads `O t h e r` and `0ther` as Other.
    let letters = word.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '0' { 'o' } else { c });
    letters.eq("other".chars())
}

/// Whether a person would read a safe text as this name. Only letters and digits are compared, in any case.
pub(crate) fn reads_like(text: &str, name: &str) -> bool {
    bare_letters(text) == bare_letters(name)
}

/// Whether a person would read the beginning of a safe text as this name.
pub(crate) fn begins_like(text: &str, name: &str) -> bool {
    bare_letters(text).starts_with(&bare_letters(name))
}

fn bare_letters(text: &str) -> String {
    text.nfkc().map(latin).flat_map(lower).filter(|c| c.is_alphanumeric()).collect()
}

const BRACKETS: [char; 8] = ['(', '[', '{', '<', ')', ']', '}', '>'];

/// Whether a character is mere decoration of a word: a blank, bracket, quote, asterisk or symbol. Characters of paths
/// and flags do not count, because `other/` and `--other` are different words.
fn is_decoration(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_whitespace() || BRACKETS.contains(&c) || matches!(c, '"' | '\'' | '`' | '*')
    } else {
        !c.is_alphanumeric()
    }
}

/// Returns the lower case of a letter, with `ς` as `σ` and `ß` as `ss`.
fn lower(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().flat_map(|c| match c {
        'ς' => ['σ'].into_iter().chain(None),
        'ß' => ['s'].into_iter().chain(Some('s')),
        c => [c].into_iter().chain(None),
    })
}

/// Latin letters with their look-alikes from Cyrillic, Greek, Cherokee, Lisu and NKo. Each word of this text is a Latin
/// letter followed by its look-alikes. The look-alikes are escaped, because a reader could not see the difference.
/// Pairs within ASCII, such as `1` and `I`, are absent on purpose: `Phase 1` and `Phase I` are two labels. Lunate
/// sigmas are absent, because NFKC turns them into plain sigmas.
const LOOK_ALIKES: &str = "\
    A\u{391}\u{410}\u{13aa}\u{a4ee} B\u{392}\u{412}\u{13f4}\u{a4d0} C\u{421}\u{13df}\u{a4da} D\u{13a0}\u{a4d3} \
    E\u{395}\u{415}\u{13ac}\u{a4f0} F\u{a4dd} G\u{50c}\u{13c0}\u{a4d6} H\u{397}\u{41d}\u{13bb}\u{a4e7} \
    I\u{399}\u{406}\u{4c0}\u{a4f2} J\u{37f}\u{408}\u{13ab}\u{a4d9} K\u{39a}\u{41a}\u{13e6}\u{a4d7} \
    L\u{13de}\u{a4e1} M\u{39c}\u{41c}\u{13b7}\u{a4df} N\u{39d}\u{a4e0} O\u{39f}\u{41e}\u{a4f3} \
    P\u{3a1}\u{420}\u{13e2}\u{a4d1} Q\u{51a} R\u{13a1}\u{13d2}\u{a4e3} S\u{405}\u{13d5}\u{13da}\u{a4e2} \
    T\u{3a4}\u{422}\u{13a2}\u{a4d4} U\u{a4f4} V\u{474}\u{13d9}\u{a4e6} W\u{51c}\u{13b3}\u{13d4}\u{a4ea} \
    X\u{3a7}\u{425}\u{a4eb} Y\u{3a5}\u{423}\u{13bd}\u{a4ec} Z\u{396}\u{13c3}\u{a4dc} a\u{430} c\u{441} d\u{501} \
    e\u{435} h\u{4bb} i\u{456}\u{13a5} j\u{3f3}\u{458} l\u{4cf}\u{7ca} o\u{3bf}\u{43e}\u{7cb} p\u{440} q\u{51b} \
    r\u{433} s\u{455} v\u{3bd}\u{475} w\u{51d} x\u{445} y\u{443}";

/// Returns the Latin letter that a letter of another script looks like, or else the character itself.
fn latin(c: char) -> char {
    let found = if c.is_ascii() { None } else { LOOK_ALIKES.find(c) };
    let word = found.and_then(|at| LOOK_ALIKES[..at].rsplit(' ').next());
    word.and_then(|word| word.chars().next()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_the_same_or_differ_in_case_and_form_alone_are_alike() {
        for (a, b) in [
            ("JSON", "json"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("CAF\u{c9}", "cafe\u{301}"),
            ("Ｒｅｄｉｓ", "redis"),
            ("ﬁle", "File"),
            ("ΟΔΟΣ", "οδος"),
            ("Нет", "нет"),
            ("\u{410}WS", "AWS"),
            ("\u{391}WS", "\u{410}WS"),
            ("\u{13aa}llow", "Allow"),
            ("\u{a4ee}llow", "Allow"),
            ("\u{13aa}llow", "\u{a4ee}llow"),
            ("n\u{7cb}", "no"),
            ("Straße", "STRASSE"),
            ("GROẞ", "groß"),
        ] {
            assert!(alike(a, b) && alike(b, a), "{a} {b}");
        }
    }

    #[test]
    fn texts_that_a_person_tells_apart_are_not_alike() {
        for (a, b) in [
            ("Phase 1", "Phase I"),
            ("Phase l", "Phase 1"),
            ("O", "0"),
            ("rn", "m"),
            ("cafe", "caf\u{e9}"),
            ("ılık", "ilik"),
            ("Нан", "һан"),
            ("Да", "Нет"),
            ("猫", "犬"),
            ("α", "a"),
        ] {
            assert!(!alike(a, b) && !alike(b, a), "{a} {b}");
        }
    }

    #[test]
    fn every_letter_that_looks_latin_is_taken_for_the_one_it_looks_like() {
        let cyrillic = "\u{410}\u{412}\u{421}\u{415}\u{50c}\u{41d}\u{406}\u{4c0}\u{408}\u{41a}\u{41c}\u{41e}\u{420}\u{51a}\
                        \u{405}\u{422}\u{474}\u{51c}\u{425}\u{423}";
        let small = "\u{430}\u{441}\u{501}\u{435}\u{4bb}\u{456}\u{458}\u{4cf}\u{43e}\u{440}\u{51b}\u{433}\u{455}\u{475}\
                     \u{51d}\u{445}\u{443}";
        let greek =
            "\u{391}\u{392}\u{395}\u{397}\u{399}\u{37f}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\u{3a4}\u{3a7}\u{3a5}\u{396}";
        for (letters, latin) in [
            (cyrillic, "ABCEGHIIJKMOPQSTVWXY"),
            (small, "acdehijlopqrsvwxy"),
            (greek, "ABEHIJKMNOPTXYZ"),
            ("\u{3f3}\u{3bf}\u{3bd}", "jov"),
        ] {
            assert_eq!(letters.chars().count(), latin.len());
            for (letter, latin) in letters.chars().zip(latin.chars()) {
                let letter = letter.to_string();
                let latin = latin.to_string();
                assert!(alike(&letter, &latin), "{} is not {latin}", letter.escape_unicode());
            }
        }
    }

    #[test]
    fn other_is_recognised_in_brackets_in_full_width_and_in_letters_that_look_latin() {
        for name in [
            "Other",
            "OTHER…",
            "Other (please specify)",
            "[Other]",
            "(other)",
            "<Other> …",
            "【Other】",
            "\"Other\"",
            "**Other**",
            "✏\u{fe0f} Other",
            "Other…？",
            "Ｏｔｈｅｒ",
            "ⓄⓉⒽⒺⓇ",
            "\u{41e}ther",
            "\u{39f}\u{422}\u{397}\u{395}R",
            "oth\u{435}\u{433}",
            "\u{7cb}ther",
            "\u{a4f3}\u{a4d4}\u{a4e7}\u{a4f0}\u{a4e3}",
            "0ther",
            "O t h e r",
            "O\u{2003}ther…",
        ] {
            assert!(is_other(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_recognised_whatever_stands_around_its_letters() {
        for text in ["Bash", "BASH", "[Bash]", "✔ Bash", "B a s h", "Bash:", "Ｂａｓｈ", "B\u{430}\u{455}h"] {
            assert!(reads_like(text, "Bash"), "{text}");
        }
        for text in ["Bash version", "Bass", "Dash", ""] {
            assert!(!reads_like(text, "Bash"), "{text}");
        }
        assert!(reads_like("don't run it", "Don’t run it"));
    }

    #[test]
    fn what_only_contains_the_word_other_is_not_other() {
        for name in
            ["Another", "Others", "Other database", "other.rs", "other/", "--other", "@other", ".other", "Отер", ""]
        {
            assert!(!is_other(name), "{name}");
        }
    }
}
