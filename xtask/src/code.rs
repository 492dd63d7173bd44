//! The tokens of Rust source, as `syn` and the compiler read them, in one row.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A word (identifier, keyword, number) or one punctuation character. Strings, characters and lifetimes are
/// left out; a comment for documentation is an attribute, and other comments are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The characters as written.
    pub text: String,
    /// Line in the file, from 1.
    pub line: usize,
}

/// The tokens of a file.
///
/// # Errors
/// The line where it isn't Rust.
pub fn tokens(source: &str) -> Result<Vec<Token>, usize> {
    let stream = source.parse::<TokenStream>().map_err(|error| error.span().start().line)?;
    let mut found = Vec::new();
    flatten(stream, &mut found);
    Ok(found)
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let mut is_lifetime = false;
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: String, line| into.push(Token { text, line });
        match tree {
            TokenTree::Ident(_) if is_lifetime => {}
            TokenTree::Ident(ident) => push(ident.to_string(), line),
            TokenTree::Punct(punct) if punct.as_char() == '\'' && punct.spacing() == Spacing::Joint => {
                is_lifetime = true;
                continue;
            }
            TokenTree::Punct(punct) => push(punct.as_char().to_string(), line),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with(|first: char| first.is_ascii_digit()) {
                    push(text, line);
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open.to_owned(), line);
                flatten(group.stream(), into);
                into.push(Token { text: close.to_owned(), line: group.span_close().start().line });
            }
        }
        is_lifetime = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).unwrap().into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_and_punctuation_are_kept_with_their_lines() {
        let found = tokens("use std::time;\nfn f() {\n}").unwrap();
        let of = |at: usize| (found[at].text.as_str(), found[at].line);
        assert_eq!([of(0), of(1), of(2)], [("use", 1), ("std", 1), (":", 1)]);
        assert_eq!([of(6), of(10), of(11)], [("fn", 2), ("{", 2), ("}", 3)]);
    }

    #[test]
    fn what_is_no_code_is_left_out() {
        let text = r####"a // HashMap
            b "HashMap" c r#"HashMap"# d 'H' e &'static f /* HashMap /* */ */ 12"####;
        assert_eq!(texts(text), ["a", "b", "c", "d", "e", "&", "f", "12"]);
    }

    #[test]
    fn what_is_no_rust_is_refused_by_its_line() {
        assert_eq!(tokens("fn f() {}\n\"abc\n"), Err(2));
    }
}
