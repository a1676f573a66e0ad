//! The sources of a question set: a file, standard input, an argument, or the quick form.

use crate::config::Settings;
use crate::failure::{self, Failure, reason};
use askuser::input::QuestionInput;
use askuser::{Form, Limits, QuestionSet, Rules, Violation, Violations};
use clap::ArgMatches;
use serde_json::Value;
use std::fs::File;
use std::io::{IsTerminal, Read};
use toml::de::{DeTable, DeValue};

/// The size limit of an input in bytes, which no valid input reaches.
const MAX_BYTES: u64 = 1 << 20;

/// The size limit of a list in bytes. A list with the maximum number of the longest lines is smaller.
const MAX_LIST_BYTES: u64 = 24 << 20;

/// The reasons why an input contains no valid question.
pub(crate) struct Rejected {
    /// The failure for the operator.
    pub(crate) failure: Failure,
    /// The violations for the author of the input; `None` if it was not read.
    pub(crate) violations: Option<Violations>,
}

impl From<Failure> for Rejected {
    fn from(failure: Failure) -> Rejected {
        Rejected { failure, violations: None }
    }
}

impl From<Violations> for Rejected {
    fn from(violations: Violations) -> Rejected {
        Rejected { failure: invalid(violations.clone()), violations: Some(violations) }
    }
}

impl Rejected {
    /// Returns the rejection of a text that cannot be a valid input.
    fn unfit(path: &str, fact: impl Into<String>, limit: &str) -> Rejected {
        let violation = Violation { path: path.to_owned(), fact: fact.into(), limit: limit.to_owned() };
        Rejected { failure: Failure::new(&violation), violations: Some(violation.into()) }
    }

    fn hint(self, hint: &str) -> Rejected {
        Rejected { failure: self.failure.hint(hint), ..self }
    }
}

pub(crate) fn question_set(args: &ArgMatches, settings: &Settings) -> Result<QuestionSet, Rejected> {
    let quick = args.try_get_one::<String>("question").ok().flatten();
    match quick {
        Some(question) => {
            if args.contains_id("file") || args.contains_id("json") {
                return Err(Failure::new("-q cannot be combined with FILE or --json").into());
            }
            // In the quick form a description is optional, because the person who types the labels knows their meaning.
            let rules = rules(settings).with_limits(Limits::WITH_BLANK_DESCRIPTIONS).map_err(Failure::new)?;
            Ok(QuestionSet::new([quick_question(question, args)], &rules).map_err(|bad| bad.map(in_flags))?)
        }
        None => Ok(parse(&text(args)?, settings)?),
    }
}

pub(crate) fn parse(text: &str, settings: &Settings) -> Result<QuestionSet, Violations> {
    QuestionSet::from_json(text, &rules(settings))
}

pub(crate) fn rules(settings: &Settings) -> Rules {
    if settings.repair { Rules::repair() } else { Rules::strict() }
}

pub(crate) fn text(args: &ArgMatches) -> Result<String, Rejected> {
    // Some commands lack the quick form.
    let how = match args.try_contains_id("question") {
        Ok(_) => "give a FILE, - (standard input), --json '{…}' or -q \"Which?\" -o A -o B",
        Err(_) => "give a FILE, - (standard input) or --json '{…}'",
    };
    let (name, text) = match (args.get_one::<String>("json"), args.get_one::<String>("file").map(String::as_str)) {
        (Some(json), _) => ("--json", json.clone()),
        (_, None) if std::io::stdin().is_terminal() => return Err(Failure::new("no input").hint(how).into()),
        (_, None | Some("-")) => ("standard input", read_text("standard input", MAX_BYTES, std::io::stdin().lock())?),
        (_, Some(path)) => {
            let file = File::open(path).map_err(|error| {
                if path.is_empty() {
                    return Failure::new("FILE: empty, must name a file").hint(how);
                }
                let hint = match path {
                    // The value was probably meant for another flag.
                    json if json.trim_start().starts_with('{') => "JSON itself goes with --json",
                    question if question.ends_with('?') => {
                        "a question goes with -q: askuser ask -q \"Which?\" -o A -o B"
                    }
                    _ => how,
                };
                Failure::new(format!("cannot open {path}: {}", reason(&error))).hint(hint)
            })?;
            (path, read_text(path, MAX_BYTES, file)?)
        }
    };
    if text.trim().is_empty() {
        Err(Rejected::unfit(name, "empty", "must be a JSON object").hint(how))
    } else {
        Ok(text)
    }
}

/// Returns a violation of the quick form in terms of its flags.
fn in_flags(bad: Violation) -> Violation {
    let flag = |path: &str| -> String {
        let Some(field) = path.strip_prefix("questions[0].") else { return path.to_owned() };
        let option = field.strip_prefix("options[").and_then(|rest| rest.split_once("]."));
        match (field, option.and_then(|(index, part)| Some((index.parse::<usize>().ok()?, part)))) {
            ("question", _) => "-q".to_owned(),
            ("header", _) => "-H".to_owned(),
            ("options", _) => "-o".to_owned(),
            (_, Some((index, part))) => format!("{part} of the {} -o", ordinal(index)),
            (field, None) => field.to_owned(),
        }
    };
    let fact = match bad.fact.strip_prefix("repeats ") {
        Some(other) => {
            let (path, how) = other.split_at(other.find(' ').unwrap_or(other.len()));
            format!("repeats the {}{how}", flag(path))
        }
        None => bad.fact,
    };
    let path = flag(&bad.path);
    let limit = match path.as_str() {
        "-o" => format!("{}, each as -o \"LABEL: DESCRIPTION\"", bad.limit),
        _ => bad.limit,
    };
    Violation { path, fact, limit }
}

fn ordinal(index: usize) -> String {
    match ["first", "second", "third", "fourth"].get(index) {
        Some(word) => (*word).to_owned(),
        None => format!("{}th", index + 1),
    }
}

pub(crate) fn read(name: &str, reader: impl Read) -> Result<String, Failure> {
    read_text(name, MAX_BYTES, reader).map_err(|rejected| rejected.failure)
}

pub(crate) fn read_list() -> Result<String, Failure> {
    read_text("standard input", MAX_LIST_BYTES, std::io::stdin().lock()).map_err(|rejected| rejected.failure)
}

fn read_text(name: &str, max: u64, reader: impl Read) -> Result<String, Rejected> {
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| Failure::new(format!("cannot read {name}: {}", reason(&error)));
    reader.take(max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max {
        return Err(Rejected::unfit(name, format!("longer than {max} bytes"), "must be shorter"));
    }
    let text = str::from_utf8(&bytes).map_err(|error| {
        Rejected::unfit(name, format!("not UTF-8 at byte {}", error.valid_up_to()), "must be UTF-8 text")
    })?;
    // Some editors begin a file with a byte order mark.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
}

/// Parses TOML to a JSON value, with the keys in their order.
pub(crate) fn from_toml(text: &str) -> Result<Value, toml::de::Error> {
    fn value(toml: &DeValue<'_>) -> Value {
        match toml {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number.into(),
                Err(_) => number.to_string().into(),
            },
            DeValue::Float(number) => number.to_string().into(),
            DeValue::Boolean(truth) => (*truth).into(),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Array(items) => items.iter().map(|item| value(item.get_ref())).collect(),
            DeValue::Table(fields) => table(fields),
        }
    }
    fn table(fields: &DeTable<'_>) -> Value {
        let fields = fields.iter().map(|(key, field)| (key.get_ref().to_string(), value(field.get_ref())));
        Value::Object(fields.collect())
    }
    DeTable::parse(text).map(|fields| table(fields.get_ref()))
}

/// Returns the byte offset of a top-level key in a TOML text.
pub(crate) fn toml_key_offset(text: &str, key: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    table.get_ref().keys().find(|other| other.get_ref() == key).map(|key| key.span().start)
}

/// Returns the error of an answer that does not fit its question.
pub(crate) fn invalid_answer(violations: Violations) -> Failure {
    Failure::of("invalid answer, nothing was recorded", &violations)
}

/// Returns the error of an invalid input, with its violations as a model reads them.
pub(crate) fn invalid(violations: Violations) -> Failure {
    Failure::of("invalid input, nothing was asked", &violations)
}

fn quick_question(question: &str, args: &ArgMatches) -> QuestionInput {
    let header = args.get_one::<String>("header").map_or(Form::Tool.default_header(), String::as_str);
    let options = args.get_many::<String>("option").unwrap_or_default();
    let input = options.fold(QuestionInput::new(question, header), |input, option| {
        let (label, description) = option.split_once(": ").unwrap_or((option, ""));
        input.option(label.trim(), description.trim())
    });
    let unsplit = args.get_many::<String>("option").unwrap_or_default().find(|option| looks_unsplit(option));
    if let Some(option) = unsplit {
        let words = format!("-o {option:?} is a label with a colon; a description follows \": \", with a space");
        failure::notice(&words);
    }
    if args.get_flag("multi") { input.multi_select() } else { input }
}

/// Returns whether the user may have meant `LABEL: DESCRIPTION` with a space. Returns `false` for `http://…`, `10:30`
/// and `std::io`.
fn looks_unsplit(option: &str) -> bool {
    let description = option.split_once(':').map(|(_, description)| description);
    !option.contains(": ") && description.is_some_and(|text| text.starts_with(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_without_a_space_may_be_a_mistake_but_not_in_an_address_a_time_or_a_path() {
        for option in ["a:b", "PostgreSQL:rich features"] {
            assert!(looks_unsplit(option), "{option}");
        }
        for option in ["a", "a: b", "a:b: c", "http://a.example", "10:30", "std::io", "a:"] {
            assert!(!looks_unsplit(option), "{option}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_read_past_and_only_one() {
        assert_eq!(read("in.json", "\u{feff}{}".as_bytes()).unwrap(), "{}");
        assert_eq!(read("in.json", "\u{feff}\u{feff}{}".as_bytes()).unwrap(), "\u{feff}{}");
    }

    #[test]
    fn too_long_an_input_does_not_claim_to_be_within_its_limit() {
        let failure = read("in.json", std::io::repeat(b'x')).unwrap_err();
        assert_eq!(failure.message, "in.json: longer than 1048576 bytes, must be shorter");
    }

    #[test]
    fn toml_reads_like_json_in_the_order_of_the_file() {
        let toml = "b = 1\na = [\"x\", true]\n[t]\n\"/k/i\" = 0x10\n";
        assert_eq!(from_toml(toml).unwrap().to_string(), r#"{"b":1,"a":["x",true],"t":{"/k/i":16}}"#);
        assert!(from_toml("= 1").is_err());
    }
}
