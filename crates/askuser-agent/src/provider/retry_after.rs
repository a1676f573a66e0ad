//! Parses the pause before a retry that a provider asks for. The provider states seconds, milliseconds, a date, or a
//! duration in the error.

use reqwest::header::HeaderMap;
use std::time::{Duration, SystemTime};

pub(super) fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(pause) = text("retry-after-ms").and_then(|ms| seconds(ms, 1000.0)) {
        return Some(pause);
    }
    let value = text("retry-after")?;
    seconds(value, 1.0).or_else(|| Some(httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()))
}

/// Parses a duration in Google's format, such as `17s` and `1.5s`.
pub(super) fn from_duration(text: &str) -> Option<Duration> {
    seconds(text.strip_suffix('s')?, 1.0)
}

fn seconds(text: &str, units_per_second: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse::<f64>().ok()? / units_per_second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn check(headers: &[(&'static str, &str)], expected: Option<Duration>) {
        let headers = headers.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap()));
        // The time is Sun, 06 Nov 1994 08:49:37 GMT.
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(from_headers(&headers.collect(), now), expected);
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_headers_there_is_no_delay() {
        check(&[], None);
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        check(&[("retry-after", "17")], Some(17 * SECOND));
        check(&[("retry-after", " 1.5 ")], Some(3 * SECOND / 2));
        check(&[("retry-after", "0")], Some(Duration::ZERO));
    }

    #[test]
    fn milliseconds_are_finer_and_come_first() {
        check(&[("retry-after", "1"), ("retry-after-ms", "250")], Some(SECOND / 4));
    }

    #[test]
    fn a_date_may_take_any_form_that_http_knows() {
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(60 * SECOND));
        check(&[("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT")], Some(60 * SECOND));
        check(&[("retry-after", "Sun Nov  6 08:50:37 1994")], Some(60 * SECOND));
        check(&[("retry-after", "Tue, 29 Feb 2000 08:49:37 GMT")], Some(1941 * 86_400 * SECOND));
    }

    #[test]
    fn a_date_in_the_past_means_now() {
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(Duration::ZERO));
    }

    #[test]
    fn invalid_values_are_ignored() {
        for value in ["soon", "-1", "NaN", "inf", "1e300", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994", "6 7"] {
            check(&[("retry-after", value)], None);
        }
    }

    #[test]
    fn google_writes_durations_with_an_s() {
        assert_eq!(from_duration("17s"), Some(17 * SECOND));
        assert_eq!(from_duration("0.250s"), Some(SECOND / 4));
        assert_eq!(from_duration("17"), None);
    }
}
