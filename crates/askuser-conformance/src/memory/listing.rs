//! The lists and the look-up of abbreviations in the store in memory.

use super::data::{Data, Kept};
use super::fault::Fault;
use askuser::store::{Cursor, Ending, Filter, ListSection, Page, Principal, QuestionId, StoreError, UnsentWords};

/// The maximum number of questions listed for an ambiguous abbreviation.
const CANDIDATES: usize = 6;

impl Data {
    pub(super) fn resolve(&self, by: &Principal, abbreviation: &str) -> Result<Vec<QuestionId>, StoreError> {
        let abbreviation = abbreviation.to_ascii_lowercase();
        let Data { by_id, kept, .. } = self;
        let sees = |n: usize| by.sees(&kept[n].record.question.request);
        let found = by_id.iter().filter(|(id, n)| id.as_str().starts_with(&abbreviation) && sees(**n));
        let most = if abbreviation.is_empty() { 0 } else { CANDIDATES };
        Ok(found.map(|(id, _)| id.clone()).take(most).collect())
    }

    pub(super) fn count(&self, by: &Principal, filter: &Filter) -> Result<u64, StoreError> {
        let of = |(part, filter): &(ListSection, Filter)| {
            self.kept.iter().filter(|kept| self.is_listed(by, *part, filter, kept)).count() as u64
        };
        Ok(filter.parts(by).iter().map(of).sum())
    }

    pub(super) fn list(&self, by: &Principal, filter: &Filter) -> Result<Page, StoreError> {
        let mut all: Vec<(ListSection, usize)> = Vec::new();
        for (part, filter) in filter.parts(by) {
            let mut some: Vec<usize> =
                (0..self.kept.len()).filter(|n| self.is_listed(by, part, &filter, &self.kept[*n])).collect();
            some.sort_by_key(|n| self.place(&filter, part, *n));
            if filter.latest_first {
                some.reverse();
            }
            all.extend(some.into_iter().map(|n| (part, n)));
        }
        let counts = self.errs(Fault::CursorIsAnOffset);
        let skipped = match (filter.after, counts) {
            (Some(Cursor { n, .. }), true) => usize::try_from(n).unwrap_or(usize::MAX).min(all.len()),
            _ => 0,
        };
        all.drain(..skipped);
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let has_more = all.len() > limit;
        all.truncate(limit);
        let last = all.last().map(|(part, n)| {
            if counts { Cursor { rank: 0, n: (skipped + all.len()) as u64 } } else { self.place(filter, *part, *n) }
        });
        let read = |(part, n): (ListSection, usize)| {
            let mut question = self.read(n);
            question.cursor = self.place(filter, part, n);
            if by.is_asked(&question.request) {
                question.unsent = UnsentWords::bounded(self.drafts_of(n, by).iter().map(UnsentWords::from).collect());
            }
            question
        };
        let questions = all.into_iter().map(read).collect();
        Ok(Page { questions, unreadable: Vec::new(), next: last.filter(|_| has_more) })
    }

    fn place(&self, filter: &Filter, part: ListSection, n: usize) -> Cursor {
        let question = &self.kept[n].record.question;
        filter.place(part, question.cursor.n, question.ending.as_ref().and_then(Ending::at_ms))
    }

    fn is_listed(&self, by: &Principal, part: ListSection, filter: &Filter, kept: &Kept) -> bool {
        let question = &kept.record.question;
        let case = !self.errs(Fault::CaseMatters);
        let lower = |text: &str| if case { text.to_lowercase() } else { text.to_owned() };
        let agent = question.request.origin().agent.as_deref();
        let contains = |text: &str| {
            if self.errs(Fault::JsonIsSearched) {
                serde_json::json!(*question.request).to_string().to_lowercase().contains(text)
            } else {
                kept.words.contains(text)
            }
        };
        let mut words = filter.containing.iter().flat_map(|text| text.split_whitespace()).map(lower);
        let place = filter.place(part, question.cursor.n, question.ending.as_ref().and_then(Ending::at_ms));
        let is_behind = |after: Cursor| if filter.latest_first { place < after } else { place > after };
        let is_in_part = match part {
            ListSection::All => true,
            _ if self.errs(Fault::AudienceIsIgnored) => part == ListSection::Mine,
            ListSection::Others => !by.is_asked(&question.request),
            part => {
                let is_background = question.request.is_in_background() && !filter.is_history();
                by.is_asked(&question.request) && is_background == (part == ListSection::InBackground)
            }
        };
        !kept.is_purged
            && by.sees(&question.request)
            && is_in_part
            && filter.pending.is_none_or(|pending| pending == question.ending.is_none())
            && filter.since_ms.is_none_or(|since| question.asked_ms >= since)
            && filter.from.as_ref().is_none_or(|from| agent.is_some_and(|agent| lower(agent).contains(&lower(from))))
            && words.all(|word| contains(&word))
            && (self.errs(Fault::CursorIsAnOffset) || filter.after.is_none_or(is_behind))
    }
}
