//! Characters without a shape of their own: they can hide words from a person but not from a model.
//!
//! Marks that change the direction of text are not among them: `signal::neutral` makes those
//! visible.

/// The text without invisible characters.
pub fn without_invisible(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).collect()
}

/// Unicode's characters with the property `Default_Ignorable_Code_Point`, without the marks that
/// change the direction of text.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_letters_go_and_all_others_stay() {
        // Letters of Unicode's block of tags spell "rm" without being seen.
        let hidden = "port 80\u{200b}81\u{feff}\u{e0072}\u{e006d}\u{fe0f} naïve 東京 🙂";
        assert_eq!(without_invisible(hidden), "port 8081 naïve 東京 🙂");
    }
}
