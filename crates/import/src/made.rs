//! Values for what an input only describes, by the names that formats have in OpenAPI.

use crate::template::Template;

/// A value of this format; none if the format says nothing.
pub(crate) fn of_format(format: &str) -> Option<Template> {
    let text = match format {
        "uuid" => return Some(Template::hole("uuid")),
        "email" => {
            let mut email = Template::text("user");
            email.push_hole("seq");
            email.push_text("@example.com");
            return Some(email);
        }
        "date-time" => "2024-01-01T00:00:00Z",
        "date" => "2024-01-01",
        "time" => "00:00:00Z",
        "uri" | "url" | "iri" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => return None,
    };
    Some(Template::text(text))
}
