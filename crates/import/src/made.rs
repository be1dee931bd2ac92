//! Values for what an input only describes, by the names that formats have in OpenAPI.

use crate::template::Template;

/// A value of this format; none if the format says nothing.
pub(crate) fn of_format(format: &str) -> Option<Template> {
    match format {
        "uuid" => Some(Template::hole("uuid")),
        "email" => {
            let mut email = Template::text("user");
            email.push_hole("seq");
            email.push_text("@example.com");
            Some(email)
        }
        format => literal_of_format(format, 0).map(Template::text),
    }
}

/// A value that is the same each time; those of other numbers differ.
pub(crate) fn literal_of_format(format: &str, number: usize) -> Option<String> {
    let behind = if number == 0 { String::new() } else { number.to_string() };
    let day = number % 28 + 1;
    Some(match format {
        "uuid" => format!("00000000-0000-4000-8000-{number:012}"),
        "email" | "idn-email" => format!("user{behind}@example.com"),
        "date-time" => format!("2024-01-{day:02}T00:00:00Z"),
        "date" => format!("2024-01-{day:02}"),
        "time" => format!("00:{:02}:00Z", number % 60),
        "duration" => format!("P{}D", number + 1),
        "uri" | "url" | "iri" => format!("https://example.com/{behind}"),
        "hostname" => format!("example{behind}.com"),
        "ipv4" => format!("192.0.2.{}", number % 254 + 1),
        "ipv6" => format!("2001:db8::{:x}", number % 0xffff + 1),
        "byte" if number == 0 => "dGV4dA==".to_owned(),
        _ => return None,
    })
}
