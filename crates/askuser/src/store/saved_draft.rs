//! Stored drafts, and the rule that decides a save.
//!
//! Each writer (one opening of a question at one surface) has one draft. A save replaces the drafts that its writer has
//! seen, identified by their versions. A draft that the writer has not seen stays until the person has chosen between
//! the two.

use super::{MAX_DRAFT, Principal, StoreError};
use crate::draft::Draft;
use crate::resolution::Via;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// The maximum number of drafts of one person at one question.
pub const MAX_DRAFTS: usize = 16;

/// The version of a draft: its writer, and the number of that writer's save.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DraftVersion {
    /// The id of the writer, which is one opening of the question at one surface.
    pub writer: String,
    /// The number of the save. A later save of the same writer has a higher number.
    pub edit: u32,
}

impl DraftVersion {
    /// Creates the version of a new writer with a unique id.
    pub fn of_new_writer() -> DraftVersion {
        let random = [0; 2].map(|_: u8| format!("{:016x}", RandomState::new().hash_one(0)));
        DraftVersion { writer: random.concat(), edit: 0 }
    }
}

/// A draft to be saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DraftSave {
    /// The text. An empty draft removes the drafts that it replaces.
    #[serde(flatten)]
    pub draft: Draft,
    /// The version of this save. It replaces the earlier saves of its writer.
    pub version: DraftVersion,
    /// The versions of other writers' drafts that this save replaces, because its writer has seen them.
    pub replaces: Vec<DraftVersion>,
}

impl From<Draft> for DraftSave {
    fn from(draft: Draft) -> DraftSave {
        DraftSave { draft, ..DraftSave::default() }
    }
}

/// A stored draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SavedDraft {
    /// The unsent answers and texts.
    #[serde(flatten)]
    pub draft: Draft,
    /// The version of the save that wrote the draft.
    pub version: DraftVersion,
    /// The device or surface where the text was typed, as in "typed on the terminal". Empty if unknown.
    pub place: String,
    /// The time of the save, in milliseconds since 1970.
    pub saved_ms: u64,
}

impl SavedDraft {
    /// Returns the draft as JSON for a store, and the beginning of its words as JSON for the store's lists.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] if the draft cannot be written as JSON.
    pub fn to_json(&self) -> Result<(String, String), StoreError> {
        let unsent = UnsentWords::bounded(vec![self.into()]);
        let both = serde_json::to_string(self).and_then(|draft| Ok((draft, serde_json::to_string(&unsent)?)));
        both.map_err(|error| StoreError::unavailable("cannot write the draft", error))
    }

    /// Reads the drafts of one person, newest first. A draft that this program cannot read is skipped, but stays in its
    /// store.
    pub fn read(drafts: &[String]) -> Vec<SavedDraft> {
        SavedDraft::newest_first(drafts.iter().filter_map(|draft| serde_json::from_str(draft).ok()).collect())
    }

    /// Sorts drafts into the order in which a store returns them.
    pub fn newest_first(mut drafts: Vec<SavedDraft>) -> Vec<SavedDraft> {
        drafts.sort_by(|a, b| b.saved_ms.cmp(&a.saved_ms).then_with(|| a.version.writer.cmp(&b.version.writer)));
        drafts
    }
}

/// The changes of stored drafts by one save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftStep {
    /// The versions of the stored drafts to remove.
    pub removed: Vec<DraftVersion>,
    /// The draft to write, if any. It overwrites an earlier draft of the same writer.
    pub written: Option<SavedDraft>,
}

/// The words of an unsent draft, for a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnsentWords {
    /// The words, as one text for each question and field.
    pub words: Vec<String>,
    /// The device or surface where the words were typed. Empty if unknown.
    pub place: String,
    /// The time of the save, in milliseconds since 1970.
    pub saved_ms: u64,
}

/// The maximum number of characters of unsent words that a list returns for a question.
pub const MAX_UNSENT_CHARS: usize = 500;

impl UnsentWords {
    /// Reads the words that a store keeps with each draft of one person.
    pub fn read(unsent: &[String]) -> Vec<UnsentWords> {
        let drafts = unsent.iter().filter_map(|unsent| serde_json::from_str::<Vec<UnsentWords>>(unsent).ok());
        UnsentWords::bounded(drafts.flatten().collect())
    }

    /// Sorts the words of one person's drafts at a question, newest first, and cuts them to [`MAX_UNSENT_CHARS`].
    pub fn bounded(mut drafts: Vec<UnsentWords>) -> Vec<UnsentWords> {
        drafts.sort_by_key(|draft| std::cmp::Reverse(draft.saved_ms));
        let mut left = MAX_UNSENT_CHARS;
        for text in drafts.iter_mut().flat_map(|draft| &mut draft.words) {
            let end = text.char_indices().nth(left).map_or(text.len(), |(end, _)| end);
            text.truncate(end);
            left -= text.chars().count();
        }
        drafts.iter_mut().for_each(|draft| draft.words.retain(|text| !text.is_empty()));
        drafts.retain(|draft| !draft.words.is_empty());
        drafts
    }
}

impl From<&SavedDraft> for UnsentWords {
    fn from(saved: &SavedDraft) -> UnsentWords {
        UnsentWords { words: saved.draft.words(), place: saved.place.clone(), saved_ms: saved.saved_ms }
    }
}

impl DraftSave {
    /// Decides this save. `found` contains the stored drafts of this person at this question. Returns the changes, and
    /// the drafts of other writers that stay, newest first.
    ///
    /// # Errors
    /// Returns [`StoreError::Forbidden`] if the draft is too long, or if there are too many drafts.
    pub(super) fn step(
        &self,
        found: &[SavedDraft],
        by: &Principal,
        now_ms: u64,
    ) -> Result<(DraftStep, Vec<SavedDraft>), StoreError> {
        let refused = |why: String| Err(StoreError::Forbidden(format!("cannot keep the draft: {why}")));
        let bytes = serde_json::to_string(&self.draft).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_DRAFT {
            return refused(format!("it has {bytes} bytes, at most {MAX_DRAFT} are kept"));
        }
        let DraftVersion { writer, edit } = &self.version;
        let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(|stored| stored.version.writer == *writer);
        // A later save of this writer has arrived before this one.
        let is_overtaken = own.iter().any(|stored| stored.version.edit > *edit);
        let is_replaced = |stored: &&SavedDraft| {
            !is_overtaken && (self.replaces.contains(&stored.version) || stored.draft == self.draft)
        };
        let (gone, beside): (Vec<_>, Vec<_>) = others.into_iter().partition(is_replaced);
        // A later save is the newer one, even within one millisecond or after the clock was set back.
        let saved_ms = beside.iter().map(|stored| stored.saved_ms.saturating_add(1)).fold(now_ms, u64::max);
        let written = (!is_overtaken && !self.draft.is_empty()).then(|| SavedDraft {
            draft: self.draft.clone(),
            version: self.version.clone(),
            place: by.place(),
            saved_ms,
        });
        if written.is_some() && own.is_empty() && beside.len() >= MAX_DRAFTS {
            return refused(format!("{} others of this question are kept, at most {MAX_DRAFTS}", beside.len()));
        }
        let own = own.into_iter().filter(|_| written.is_none() && !is_overtaken);
        let removed = gone.into_iter().chain(own).map(|stored| stored.version.clone()).collect();
        let beside = SavedDraft::newest_first(beside.into_iter().cloned().collect());
        Ok((DraftStep { removed, written }, beside))
    }
}

impl Principal {
    /// Returns the device of a person, or else the kind of surface.
    fn place(&self) -> String {
        match (self.device(), self.via()) {
            (Some(device), _) => device.to_owned(),
            (None, Some(Via::Web)) => "the page".to_owned(),
            (None, Some(Via::Elicitation)) => "the client's dialog".to_owned(),
            (None, _) => "the terminal".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft { discuss: (!text.is_empty()).then(|| text.to_owned()), ..Draft::default() }
    }

    fn version(writer: &str, edit: u32) -> DraftVersion {
        DraftVersion { writer: writer.to_owned(), edit }
    }

    fn saved(text: &str, writer: &str, edit: u32) -> SavedDraft {
        SavedDraft { draft: draft(text), version: version(writer, edit), place: "the terminal".into(), saved_ms: 5 }
    }

    type Decided = (DraftStep, Vec<SavedDraft>);

    fn step(found: &[SavedDraft], text: &str, writer: &str, edit: u32, replaces: &[DraftVersion]) -> Decided {
        let save = DraftSave { draft: draft(text), version: version(writer, edit), replaces: replaces.to_vec() };
        save.step(found, &Principal::person("ada", Via::Inbox), 5).unwrap()
    }

    #[test]
    fn a_save_replaces_what_its_writer_has_seen() {
        let old = saved("old", "a", 1);
        let unseen = saved("unseen", "b", 2);
        let found = [old.clone(), unseen.clone(), saved("mine", "c", 1)];
        let seen = [old.version.clone(), version("b", 1)];
        let written = SavedDraft { saved_ms: 6, ..saved("more", "c", 2) };
        let expected = (DraftStep { removed: vec![old.version], written: Some(written) }, vec![unseen]);
        assert_eq!(step(&found, "more", "c", 2, &seen), expected);
    }

    #[test]
    fn an_overtaken_save_changes_nothing() {
        let mine = saved("later", "c", 3);
        let other = saved("other", "a", 1);
        let expected = (DraftStep { removed: vec![], written: None }, vec![other.clone()]);
        assert_eq!(step(&[mine, other.clone()], "earlier", "c", 2, &[other.version]), expected);
    }

    #[test]
    fn an_empty_save_removes_only_what_was_seen() {
        let mine = saved("mine", "c", 1);
        let other = saved("other", "a", 1);
        let expected = (DraftStep { removed: vec![mine.version.clone()], written: None }, vec![other.clone()]);
        assert_eq!(step(&[mine, other], "", "c", 2, &[]), expected);
    }

    #[test]
    fn the_same_text_of_two_writers_is_one_draft() {
        let other = saved("same", "a", 1);
        let expected =
            (DraftStep { removed: vec![other.version.clone()], written: Some(saved("same", "c", 1)) }, vec![]);
        assert_eq!(step(&[other], "same", "c", 1, &[]), expected);
    }

    #[test]
    fn one_draft_too_many_is_refused_and_a_writer_goes_on() {
        let found: Vec<_> = (0..MAX_DRAFTS).map(|i| saved(&i.to_string(), &i.to_string(), 0)).collect();
        let save = DraftSave { draft: draft("x"), version: version("new", 0), replaces: vec![] };
        let ada = Principal::person("ada", Via::Inbox);
        let error = save.step(&found, &ada, 5).unwrap_err();
        let why = "not allowed: cannot keep the draft: 16 others of this question are kept, at most 16";
        assert_eq!(error.to_string(), why);
        assert_eq!(step(&found, "x", "0", 1, &[]).0.written, Some(SavedDraft { saved_ms: 6, ..saved("x", "0", 1) }));
    }

    #[test]
    fn a_later_save_is_the_newer_one_whatever_the_clock_says() {
        let save = DraftSave { draft: draft("later"), version: version("a", 1), replaces: vec![] };
        let earlier = saved("earlier", "b", 1);
        for (now_ms, saved_ms) in [(4, 6), (5, 6), (7, 7)] {
            let (step, _) =
                save.step(std::slice::from_ref(&earlier), &Principal::person("ada", Via::Inbox), now_ms).unwrap();
            assert_eq!(step.written.map(|written| written.saved_ms), Some(saved_ms), "at {now_ms}");
        }
    }

    #[test]
    fn a_draft_may_have_so_many_bytes_and_no_more() {
        let empty = serde_json::to_string(&draft("x")).unwrap().len() - 1;
        let of = |bytes: usize| DraftSave { version: version("a", 1), ..draft(&"x".repeat(bytes - empty)).into() };
        let ada = Principal::person("ada", Via::Inbox);
        assert!(of(MAX_DRAFT).step(&[], &ada, 5).is_ok_and(|(step, _)| step.written.is_some()));
        let why = "not allowed: cannot keep the draft: it has 3145729 bytes, at most 3145728 are kept";
        assert_eq!(of(MAX_DRAFT + 1).step(&[], &ada, 5).unwrap_err().to_string(), why);
    }

    #[test]
    fn a_repeated_save_replaces_what_it_replaced() {
        let other = saved("other", "a", 1);
        let found = [saved("mine", "c", 2), other.clone()];
        let written = Some(saved("mine", "c", 2));
        let expected = (DraftStep { removed: vec![other.version.clone()], written }, vec![]);
        assert_eq!(step(&found, "mine", "c", 2, &[other.version]), expected);
    }

    #[test]
    fn drafts_are_read_newest_first_as_they_were_written() {
        let older = saved("older", "a", 1);
        let newer = SavedDraft { saved_ms: 9, ..saved("newer", "b", 1) };
        let texts: Vec<_> = [&older, &newer].map(|saved| saved.to_json().unwrap()).into();
        let (drafts, unsent): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        assert_eq!(SavedDraft::read(&[&drafts[..], &["{}".to_owned()]].concat()), [newer.clone(), older.clone()]);
        let words = UnsentWords::read(&[&unsent[..], &["{}".to_owned()]].concat());
        assert_eq!(words, [UnsentWords::from(&newer), UnsentWords::from(&older)]);
        assert_eq!(words[0].words, ["To talk about: newer"]);
    }

    #[test]
    fn a_list_has_so_many_characters_of_unsent_words() {
        let of = |words: &[&str], saved_ms| UnsentWords {
            words: words.iter().map(|text| (*text).to_owned()).collect(),
            place: String::new(),
            saved_ms,
        };
        let long = "ä".repeat(MAX_UNSENT_CHARS - 3);
        let drafts = vec![of(&["older"], 1), of(&[&long, "", "abcdef"], 2), of(&[], 3)];
        assert_eq!(UnsentWords::bounded(drafts), [of(&[&long, "abc"], 2)]);
        let both = vec![of(&["older"], 1), of(&["newer"], 2)];
        assert_eq!(UnsentWords::bounded(both), [of(&["newer"], 2), of(&["older"], 1)]);
    }

    #[test]
    fn no_two_writers_have_one_name() {
        assert_ne!(DraftVersion::of_new_writer(), DraftVersion::of_new_writer());
    }
}
