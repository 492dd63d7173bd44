//! Arithmetic in values, `(4k*8)`: `+ - * /`, `%`, `^` and parentheses, as fio has it.
//!
//! `%` binds closest, then `^`, then `*` and `/`, then `+` and `-`. Only `^` groups from the right.

/// Parentheses and signs within each other.
const DEPTH_MAX: u32 = 32;

/// Whether a value is an expression.
pub(super) fn is_expression(text: &str) -> bool {
    text.starts_with('(')
}

/// The value of an expression, cut off to a whole number; `None` if there is none, or it is negative or too
/// large. `unit` is what a suffix multiplies by.
pub(super) fn evaluate(text: &str, unit: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    let mut parser = Parser { rest: text.trim_end(), unit, depth: 0 };
    let value = parser.sum()?;
    if !parser.rest.is_empty() {
        return None;
    }
    match value {
        Number::Whole(whole) => u64::try_from(whole).ok(),
        Number::Real(real) => (0.0..9e18).contains(&real).then_some(real as u64),
    }
}

/// Whole numbers stay whole: a division of two of them is cut off.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn real(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        }
    }

    fn with(self, operator: char, other: Number) -> Option<Number> {
        if let (Number::Whole(a), Number::Whole(b)) = (self, other) {
            let whole = match operator {
                '+' => a.checked_add(b),
                '-' => a.checked_sub(b),
                '*' => a.checked_mul(b),
                '/' => a.checked_div(b),
                '%' => a.checked_rem(b),
                // A root, or a fraction.
                _ if b < 0 => return Some(Number::Real(libm::pow(a as f64, b as f64))),
                _ => a.checked_pow(u32::try_from(b).ok()?),
            };
            return whole.map(Number::Whole);
        }
        let (a, b) = (self.real(), other.real());
        let real = match operator {
            '+' => a + b,
            '-' => a - b,
            '*' => a * b,
            '/' => a / b,
            '^' => libm::pow(a, b),
            _ => return None,
        };
        real.is_finite().then_some(Number::Real(real))
    }
}

struct Parser<'a> {
    rest: &'a str,
    unit: &'a dyn Fn(&str) -> Option<u64>,
    depth: u32,
}

impl<'a> Parser<'a> {
    /// Takes one of these characters, if one is next.
    fn take(&mut self, any: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|c| any.contains(c))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let (run, rest) = self.rest.split_at(self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        run
    }

    fn sum(&mut self) -> Option<Number> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            left = left.with(operator, self.product()?)?;
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Number> {
        let mut left = self.power()?;
        while let Some(operator) = self.take(&['*', '/']) {
            left = left.with(operator, self.power()?)?;
        }
        Some(left)
    }

    fn power(&mut self) -> Option<Number> {
        let base = self.remainder()?;
        match self.take(&['^']) {
            Some(operator) => self.deeper(Parser::power).and_then(|exponent| base.with(operator, exponent)),
            None => Some(base),
        }
    }

    fn remainder(&mut self) -> Option<Number> {
        let mut left = self.signed()?;
        while let Some(operator) = self.take(&['%']) {
            left = left.with(operator, self.signed()?)?;
        }
        Some(left)
    }

    fn signed(&mut self) -> Option<Number> {
        if self.take(&['-']).is_some() {
            return Number::Whole(0).with('-', self.deeper(Parser::signed)?);
        }
        let mut value = match self.take(&['(']) {
            Some(_) => {
                let inner = self.deeper(Parser::sum)?;
                self.take(&[')'])?;
                inner
            }
            None => self.number()?,
        };
        let suffix = self.run(|c| c.is_ascii_alphabetic());
        if !suffix.is_empty() {
            let unit = i64::try_from((self.unit)(suffix)?).ok()?;
            value = value.with('*', Number::Whole(unit))?;
        }
        Some(value)
    }

    fn number(&mut self) -> Option<Number> {
        self.rest = self.rest.trim_start();
        let digits = self.run(|c| c.is_ascii_digit() || c == '.');
        match digits.contains('.') {
            true => digits.parse().ok().map(Number::Real),
            false => digits.parse().ok().map(Number::Whole),
        }
    }

    fn deeper(&mut self, part: impl FnOnce(&mut Self) -> Option<Number>) -> Option<Number> {
        self.depth += 1;
        let value = if self.depth > DEPTH_MAX { None } else { part(self) };
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<u64> {
        evaluate(text, &|suffix| (suffix == "k").then_some(1024))
    }

    #[test]
    fn operators_bind_as_in_fio() {
        for (text, value) in [
            ("(1024*1024)", 1 << 20),
            ("(4k*2 + 1)", 8193),
            ("((1+2)k)", 3072),
            ("(2+3)*4", 20),
            ("(10 - 2 - 3)", 5),
            ("(100 / 5 / 2)", 10),
            ("(2^3^2)", 512),
            ("(2 * 3 ^ 2)", 18),
            ("(2 ^ 7 % 4)", 8),
            ("(7/2)", 3),
            ("(7/2.0*2)", 7),
            ("(1.5k)", 1536),
            ("(-2 + 5)", 3),
            ("(2^-1 * 8)", 4),
        ] {
            assert_eq!(of(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_refused() {
        let deep = "(".repeat(40) + "1" + &")".repeat(40);
        let signs = alloc::format!("({}1)", "-".repeat(100_000));
        let wrong =
            ["(1", "()", "(1+)", "(1)2", "(1/0)", "(5%0)", "(1-2)", "(2x)", "(9999999999^9)", "(1.2.3)"];
        for text in wrong.into_iter().chain([&*deep, &*signs, "(1/0.0)", "(5.5%2)"]) {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
