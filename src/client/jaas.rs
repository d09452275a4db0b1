//! `sasl.jaas.config`: a login module, a control flag and options.
//!
//! ```text
//! org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";
//! ```

use super::secret::Secret;

/// Who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub username: String,
    /// Its password.
    pub password: Secret,
    /// Whether it is a delegation token (`tokenauth="true"`, SCRAM only).
    pub token: bool,
}

impl Login {
    /// Parses the configuration of one login module.
    ///
    /// # Errors
    ///
    /// What is wrong; never a part of the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let words = words(text)?;
        let (mut username, mut password, mut token) = (None, None, false);
        // The module's class and its flag come first.
        let mut options = words.iter().skip(2);
        while let Some(key) = options.next() {
            if key == ";" {
                break;
            }
            let (Some("="), Some(value)) = (options.next().map(String::as_str), options.next())
            else {
                return Err("an option of it has no value".to_owned());
            };
            match key.as_str() {
                "username" => username = Some(value.clone()),
                "password" => password = Some(Secret::new(value.clone())),
                "tokenauth" => token = value.eq_ignore_ascii_case("true"),
                _ => {}
            }
        }
        Ok(Self {
            username: username.ok_or("it has no username")?,
            password: password.ok_or("it has no password")?,
            token,
        })
    }
}

/// Splits into words, quoted texts, `=` and `;`.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '=' | ';' => words.push(c.to_string()),
            '"' | '\'' => {
                let mut word = String::new();
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some('\\') => word.extend(chars.next()),
                        Some(inner) => word.push(inner),
                        None => return Err("a quoted text of it does not end".to_owned()),
                    }
                }
                words.push(word);
            }
            _ => {
                let mut word = c.to_string();
                while let Some(next) =
                    chars.next_if(|c| !c.is_whitespace() && !matches!(c, '=' | ';' | '"' | '\''))
                {
                    word.push(next);
                }
                words.push(word);
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_with_quotes_and_escapes() {
        let login = Login::parse(
            "o.a.k.ScramLoginModule required\n username=\"al=ice\" password='p\\'w; x' tokenauth=\"true\" ;",
        )
        .unwrap();
        assert_eq!(login.username, "al=ice");
        assert_eq!(login.password.expose(), "p'w; x");
        assert!(login.token);
        for text in [
            "",
            "M required;",
            "M required username=\"a\";",
            "M required username=\"a",
            "M required username",
        ] {
            assert!(Login::parse(text).is_err(), "{text}");
        }
    }
}
