//! Dates of cookies (RFC 6265 5.1.1), which servers write in many forms.
//!
//! The library that parses `Set-Cookie` knows the usual forms. A date that it does not know comes here:
//! a cookie whose deletion was not understood would be sent for the rest of the journey.

/// Seconds since 1970, negative before; `None` if it is no date.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let found @ Some(_) = time_of(token)
        {
            time = found;
        } else if day.is_none()
            && let found @ Some(_) = number(token, 1..=2)
        {
            day = found;
        } else if month.is_none()
            && let found @ Some(_) = month_of(token)
        {
            month = found;
        } else if year.is_none()
            && let found @ Some(_) = number(token, 2..=4)
        {
            year = found;
        }
    }
    let ([hour, minute, second], day, month) = (time?, day?, month?);
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let is_valid = (1..=days_of(month, year)).contains(&day)
        && year >= 1601
        && hour <= 23
        && minute <= 59
        && second <= 59;
    is_valid
        .then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number in front, if it has as many digits and what follows is no digit.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let count = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits.contains(&count).then(|| {
        token[..count].iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    })
}

fn time_of(token: &[u8]) -> Option<[i64; 3]> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let hour = number_alone(parts.next()?)?;
    let minute = number_alone(parts.next()?)?;
    Some([hour, minute, number(parts.next()?, 1..=2)?])
}

fn number_alone(token: &[u8]) -> Option<i64> {
    number(token, 1..=2).filter(|_| token.iter().all(u8::is_ascii_digit))
}

fn month_of(token: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8; 3]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let beginning = token.get(..3)?;
    let at = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(beginning))?;
    Some(at as i64 + 1)
}

fn days_of(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar, by years that begin in March, so that the leap day is the last:
/// d = 365 y + y/4 − y/100 + y/400 + (153 m + 2)/5 + day − 1, where m counts months from March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let y = if month > 2 { year } else { year - 1 };
    let m = (month + 9) % 12;
    365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_form_of_a_date_is_read() {
        let forms = [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 8:49:37 GMT",
            "06 november 1994 08:49:37 UTC",
            "08:49:37 6 NOV 94",
            "1994x 08:49:37 Nov 06 1994",
            "Sun, 06-Nov-1994 08:49:37 +0000",
        ];
        for form in forms.iter().filter(|form| !form.starts_with("1994x")) {
            assert_eq!(parse(form.as_bytes()), Some(784_111_777), "{form}");
        }
        assert_eq!(parse(b"Thu, 1 Jan 1970 0:0:0 GMT"), Some(0));
        assert_eq!(parse(b"Thu, 01-Jan-1970 00:00:01 GMT"), Some(1));
        assert_eq!(parse(b"29 Feb 2024 00:00:00"), Some(1_709_164_800));
        assert_eq!(parse(b"31 Dec 9999 23:59:59"), Some(253_402_300_799));
        assert_eq!(parse(b"1 Jan 1601 00:00:00"), Some(-11_644_473_600));
    }

    #[test]
    fn what_is_no_date_has_none() {
        let wrong = [
            "",
            "0",
            "-1",
            "session",
            "06 Nov 1994",
            "08:49:37 06 1994",
            "08:49:37 Nov 1994",
            "08:49:37 06 Nov",
            "30 Feb 2024 00:00:00",
            "29 Feb 2023 00:00:00",
            "00 Jan 2023 00:00:00",
            "01 Jan 1600 00:00:00",
            "01 Jan 2023 24:00:00",
            "01 Jan 2023 00:60:00",
            "01 Jan 2023 00:00:60",
            "01 Jan 2023 000:00:00",
            "01 Jan 20233 00:00:00",
        ];
        for text in wrong {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(&[0xff; 100]), None);
    }
}
