//! The grammar of RE2, in which Prometheus' patterns are written, as patterns of the `regex` crates.
//!
//! They differ: in RE2, `\d`, `\s`, `\w` and `\b` are ASCII, `{` that begins no repetition is a
//! literal, `\Q` quotes up to `\E`, `\1` to `\7` can begin an octal number, and a class has no nested
//! classes and no operators such as `&&`. A repetition of a repetition, such as `a**`, is an error.

mod class;
mod escape;

use escape::escaped_char;

/// Repetitions of repetitions repeat at most so often, as in RE2.
const MAX_REPEATS: u32 = 1000;

/// Translates a pattern of RE2 to the syntax of the `regex` crates. Compile it for bytes: `\B` is that
/// of ASCII, which the crates don't allow for text.
///
/// # Errors
/// A reason, if RE2 refuses the pattern. Some errors, such as an unclosed group, stay for the compiler of
/// the translation.
pub fn translate_re2(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        flags: String::new(),
        names: Vec::new(),
        open: Vec::new(),
        group: Group::default(),
    };
    while let Some(next) = translation.next() {
        translation.token(next)?;
    }
    Ok(translation.out)
}

struct Translation<'a> {
    rest: &'a str,
    out: String,
    /// Flags that are not written yet: a repetition behind them repeats what is before them.
    flags: String,
    /// The names of groups. In RE2, several groups may have the same one.
    names: Vec<&'a str>,
    /// The groups around the current one.
    open: Vec<Group>,
    group: Group,
}

/// The state of a group that its repetitions need.
#[derive(Clone, Copy, Default)]
struct Group {
    last: Last,
    /// The start of the last operand in the translation.
    start: usize,
    /// The most often that one of its parts repeats.
    repeats: u32,
}

/// The token before.
#[derive(Clone, Copy, Default)]
enum Last {
    /// Nothing that a repetition could repeat.
    #[default]
    Nothing,
    /// An operand, with the most often that one of its parts repeats.
    Operand(u32),
    Repetition,
}

impl<'a> Translation<'a> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn token(&mut self, next: char) -> Result<(), String> {
        match next {
            '(' => return self.open_group(),
            ')' => self.close_group(),
            '|' => {
                self.begin();
                self.out.push('|');
                self.group.last = Last::Nothing;
            }
            '*' | '+' | '?' => return self.repeat(&next.to_string(), 1),
            '{' => match repetition(self.rest) {
                Some((min, max, length)) => return self.repeat_times(min, max, length),
                None => self.literal('{'),
            },
            '[' => {
                self.begin();
                self.rest = class::push_class(self.rest, &mut self.out)?;
                self.operand(1);
            }
            '\\' => return self.backslash(),
            '^' | '$' | '.' => {
                self.begin();
                self.out.push(next);
                self.operand(1);
            }
            _ => self.literal(next),
        }
        Ok(())
    }

    /// Begins an operand. The flags before it apply to it.
    fn begin(&mut self) {
        self.out.push_str(&std::mem::take(&mut self.flags));
        self.group.start = self.out.len();
    }

    fn literal(&mut self, char: char) {
        self.begin();
        escape::push_literal(char, &mut self.out);
        self.operand(1);
    }

    fn operand(&mut self, repeats: u32) {
        self.group.last = Last::Operand(repeats);
        self.group.repeats = self.group.repeats.max(repeats);
    }

    fn backslash(&mut self) -> Result<(), String> {
        let first = self.rest.chars().next().ok_or("trailing backslash")?;
        match first {
            'Q' => {
                let quoted = &self.rest[1..];
                let (quoted, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                self.rest = rest;
                quoted.chars().for_each(|char| self.literal(char));
                return Ok(());
            }
            'A' | 'z' => {
                self.begin();
                self.out.extend(['\\', first]);
            }
            'b' | 'B' => {
                self.begin();
                self.out
                    .extend(["(?-u:\\", if first == 'b' { "b)" } else { "B)" }]);
            }
            _ => {
                if class::is_named(first) {
                    self.begin();
                    self.rest = class::push_named(self.rest, &mut self.out)?;
                    self.operand(1);
                } else {
                    let (char, rest) = escaped_char(self.rest)?;
                    self.rest = rest;
                    self.literal(char);
                }
                return Ok(());
            }
        }
        self.rest = &self.rest[1..];
        self.operand(1);
        Ok(())
    }

    /// Writes a repetition, and takes the `?` behind it. `times` is how often it repeats at most.
    fn repeat(&mut self, operator: &str, times: u32) -> Result<(), String> {
        let Last::Operand(within) = self.group.last else {
            return Err(match self.group.last {
                Last::Repetition => format!("{operator} repeats a repetition"),
                _ => format!("{operator} has nothing to repeat"),
            });
        };
        let repeats = within.saturating_mul(times);
        if times > 1 && repeats > MAX_REPEATS {
            return Err(format!("it repeats more than {MAX_REPEATS} times"));
        }
        self.out.push_str(operator);
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.out.push('?');
            self.rest = rest;
        }
        self.group.repeats = self.group.repeats.max(repeats);
        self.group.last = Last::Repetition;
        Ok(())
    }

    fn repeat_times(&mut self, min: u32, max: Option<u32>, length: usize) -> Result<(), String> {
        let operator = format!("{{{}", &self.rest[..length]);
        self.rest = &self.rest[length..];
        if min > MAX_REPEATS || max.is_some_and(|max| max > MAX_REPEATS || max < min) {
            return Err(format!(
                "{operator} is not a possible number of repetitions"
            ));
        }
        self.repeat(&operator, max.unwrap_or(min).max(1))
    }

    fn open_group(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('?') {
            let name = rest.strip_prefix("P<").or_else(|| rest.strip_prefix('<'));
            if let Some(name) = name {
                self.begin();
                self.rest = self.name(name)?;
            } else {
                self.rest = rest;
                if !self.flags()? {
                    return Ok(());
                }
            }
        } else {
            self.begin();
            self.out.push('(');
        }
        self.open.push(std::mem::take(&mut self.group));
        Ok(())
    }

    /// Opens a group with the name at the start of the text. Returns the text behind it.
    fn name(&mut self, text: &'a str) -> Result<&'a str, String> {
        let (name, rest) = text.split_once('>').ok_or("a group's name has no end")?;
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(format!("{name:?} can't name a group"));
        }
        // The crates refuse a name that occurs twice or begins with a digit.
        if self.names.contains(&name) || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.out.push('(');
        } else {
            self.names.push(name);
            self.out.extend(["(?P<", name, ">"]);
        }
        Ok(rest)
    }

    /// Writes flags up to their `:` or `)`. Returns whether a group opens.
    fn flags(&mut self) -> Result<bool, String> {
        let (mut on, mut off) = (String::new(), None);
        loop {
            let set = off.as_mut().unwrap_or(&mut on);
            match self.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) if set.contains(flag) => {}
                Some(flag @ ('i' | 'm' | 's' | 'U')) => set.push(flag),
                Some('-') if off.is_none() => off = Some(String::new()),
                Some(end @ (':' | ')')) if off.as_deref() != Some("") => {
                    let off = off.unwrap_or_default();
                    on.retain(|flag| !off.contains(flag));
                    let minus = if off.is_empty() { "" } else { "-" };
                    let flags = format!("(?{on}{minus}{off}{end}");
                    if end == ':' {
                        self.begin();
                        self.out.push_str(&flags);
                        return Ok(true);
                    }
                    if let Last::Repetition = self.group.last {
                        // It can be repeated once more, behind the flags.
                        self.out.insert_str(self.group.start, "(?:");
                        self.out.push(')');
                        self.operand(self.group.repeats);
                    }
                    if flags != "(?)" {
                        self.flags.push_str(&flags);
                    }
                    return Ok(false);
                }
                _ => return Err("a group has unknown flags".into()),
            }
        }
    }

    fn close_group(&mut self) {
        // They end with the group.
        self.flags.clear();
        self.out.push(')');
        let within = self.group.repeats.max(1);
        // The compiler reports a group that was not open.
        self.group = self.open.pop().unwrap_or_default();
        self.operand(within);
    }
}

/// The bounds of a repetition `n}`, `n,}` or `n,m}`, and its length. `None` for a literal.
fn repetition(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let (inside, _) = text.split_once('}')?;
    let (min, max) = match inside.split_once(',') {
        None => (number(inside)?, Some(number(inside)?)),
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((min, max, inside.len() + 1))
}

/// A number without leading zeros. One that is too large for the type is too large for a repetition.
fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let leads_with_zero = digits.len() > 1 && digits.starts_with('0');
    (is_number && !leads_with_zero).then(|| digits.parse().unwrap_or(u32::MAX))
}
