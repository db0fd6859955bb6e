//! Dates for templates that tell the model which day it is.

use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::{Error, ErrorKind};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Bytes of the longest format.
const LONGEST_FORMAT: usize = 1024;

/// The function `strftime_now(format)`; the time is that of UTC.
pub(super) fn strftime_now(format: &str) -> Result<String, Error> {
    if format.len() > LONGEST_FORMAT {
        let message = format!("strftime_now: the format has {} bytes, supported are {LONGEST_FORMAT}", format.len());
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    strftime(format, now)
}

/// A time in seconds since 1970 by C's format directives, as far as templates use them.
fn strftime(format: &str, seconds: u64) -> Result<String, Error> {
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    let (year, month, day) = date(days);
    let (month_name, weekday) = (MONTHS[month - 1], WEEKDAYS[(days % 7) as usize]);

    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('Y') => text += &year.to_string(),
            Some('y') => text += &format!("{:02}", year % 100),
            Some('m') => text += &format!("{month:02}"),
            Some('d') => text += &format!("{day:02}"),
            Some('e') => text += &format!("{day:2}"),
            Some('H') => text += &format!("{hour:02}"),
            Some('I') => text += &format!("{:02}", (hour + 11) % 12 + 1),
            Some('M') => text += &format!("{minute:02}"),
            Some('S') => text += &format!("{second:02}"),
            Some('p') => text += if hour < 12 { "AM" } else { "PM" },
            Some('B') => text += month_name,
            Some('b') => text += &month_name[..3],
            Some('A') => text += weekday,
            Some('a') => text += &weekday[..3],
            Some('F') => text += &format!("{year}-{month:02}-{day:02}"),
            Some('T') => text += &format!("{hour:02}:{minute:02}:{second:02}"),
            Some('%') => text.push('%'),
            other => {
                let directive = other.map(String::from).unwrap_or_default();
                let message = format!("strftime_now: %{directive} is not supported");
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
        }
    }
    Ok(text)
}

/// Year, month and day of the month, both from 1, of a day since 1970.
fn date(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats every 400 years, which are 146,097 days.
    let mut year = 1970 + 400 * (days / 146_097);
    days %= 146_097;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_by_the_usual_directives() {
        let leap_day = 1_709_210_096; // 2024-02-29 12:34:56
        let text = strftime("%A %a %d %e %B %b %Y %y %F %T %I %p %%", leap_day);
        assert_eq!(text.unwrap(), "Thursday Thu 29 29 February Feb 2024 24 2024-02-29 12:34:56 12 PM %");
        assert_eq!(strftime("%F %T %I %p %a", 0).unwrap(), "1970-01-01 00:00:00 12 AM Thu");
        assert_eq!(strftime("%F", 951_782_399 + 86_400).unwrap(), "2000-02-29");
        assert_eq!(strftime("%F", 4_102_444_799).unwrap(), "2099-12-31");
    }

    #[test]
    fn an_unknown_directive_is_an_error_that_names_it() {
        assert!(strftime("%Q", 0).unwrap_err().to_string().contains("%Q is not supported"));
        assert!(strftime("100%", 0).is_err());
    }
}
