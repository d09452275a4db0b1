//! What is never shown, kept or sent elsewhere.

/// Hides what must not be shown.
pub(super) fn masked((key, value): (String, String)) -> (String, String) {
    const SECRET: [&str; 6] = [
        "password",
        "jaas",
        "secret",
        "token",
        "credential",
        "keystore.key",
    ];
    let lower = key.to_ascii_lowercase();
    if SECRET.iter().any(|word| lower.contains(word)) {
        return (key, "[hidden]".to_owned());
    }
    (key, value)
}
