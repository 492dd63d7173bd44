//! `rtl/interface.toml` to Rust and SystemVerilog: the channel's encoding, registers and cycle table are
//! declared once.

use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use toml::Table;

/// Where the declaration lies, from the workspace root.
pub const SOURCE: &str = "rtl/interface.toml";
/// The generated Rust.
pub const RUST: &str = "base/txn/src/interface.rs";
/// The generated SystemVerilog.
pub const VERILOG: &str = "rtl/include/aster_interface.svh";

const WORD_BITS: u32 = 64;
const HEAD: &str = "Generated from rtl/interface.toml by `cargo xtask generate`; edit that and run it again.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: u64,
    doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slice {
    lsb: u32,
    width: u32,
    doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    value: u64,
    doc: String,
    word: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    offset: u64,
    access: Access,
    #[serde(default)]
    stride: Option<u64>,
    #[serde(default)]
    count: Option<u64>,
    doc: String,
}

#[derive(Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Access {
    R,
    W,
    Rw,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    width: u32,
    doc: String,
}

type Named<T> = Vec<(String, T)>;

/// The declaration, checked.
pub struct Interface {
    limits: Named<Number>,
    opcodes: Named<Number>,
    fields: Named<Named<Slice>>,
    verdicts: Named<Verdict>,
    registers: Named<Register>,
    table: Vec<Placed>,
}

struct Placed {
    name: String,
    word: u32,
    lsb: u32,
    width: u32,
    doc: String,
}

/// The entries of a section in the order of the file.
fn section<T: for<'de> Deserialize<'de>>(table: &Table, name: &str) -> Result<Named<T>, String> {
    let section = table.get(name).and_then(toml::Value::as_table).ok_or(format!("[{name}] is missing"))?;
    section
        .iter()
        .map(|(key, value)| {
            let entry = value.clone().try_into().map_err(|error| format!("{name}.{key}: {error}"))?;
            Ok((key.clone(), entry))
        })
        .collect()
}

/// Refuses equal entries in a section.
fn distinct<T>(name: &str, entries: &Named<T>, value: impl Fn(&T) -> u64) -> Result<(), String> {
    for (i, (key, entry)) in entries.iter().enumerate() {
        if let Some((other, _)) = entries[..i].iter().find(|(_, e)| value(e) == value(entry)) {
            return Err(format!("{name}: {key} and {other} both are {}", value(entry)));
        }
    }
    Ok(())
}

impl Interface {
    /// Parses and checks the text of `rtl/interface.toml`.
    ///
    /// # Errors
    /// What doesn't fit, by section and name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let root: Table = text.parse().map_err(|error| format!("{error}"))?;
        let fields_of = root.get("fields").and_then(toml::Value::as_table).ok_or("[fields] is missing")?;
        let mut fields = Vec::new();
        for name in fields_of.keys() {
            let slices: Named<Slice> = section(fields_of, name)?;
            check_slices(name, &slices)?;
            fields.push((name.clone(), slices));
        }
        let (opcodes, verdicts, registers) =
            (section(&root, "opcodes")?, section(&root, "verdicts")?, section(&root, "registers")?);
        distinct("opcodes", &opcodes, |n: &Number| n.value)?;
        distinct("verdicts", &verdicts, |v: &Verdict| v.value)?;
        distinct("registers", &registers, |r: &Register| r.offset)?;
        let table = place(section(&root, "table")?)?;
        let interface =
            Interface { limits: section(&root, "limits")?, opcodes, fields, verdicts, registers, table };
        interface.check_registers()?;
        Ok(interface)
    }

    fn table_words(&self) -> u32 {
        self.table.last().map_or(0, |entry| entry.word + 1)
    }

    fn check_registers(&self) -> Result<(), String> {
        for (name, register) in &self.registers {
            let last = register.offset + register.stride.unwrap_or(8) * (register.count.unwrap_or(1) - 1);
            if register.offset % 8 != 0 || last >= 1 << 12 {
                return Err(format!("registers: {name} lies at no multiple of 8 below 1000h"));
            }
            if name == "TABLE" && u64::from(self.table_words()) * 8 > register.stride.unwrap_or(0) {
                return Err(format!(
                    "registers: a table of {} words doesn't fit its stride",
                    self.table_words()
                ));
            }
        }
        Ok(())
    }
}

fn check_slices(name: &str, slices: &Named<Slice>) -> Result<(), String> {
    let mut taken = 0u64;
    for (field, slice) in slices {
        if slice.width == 0 || slice.lsb + slice.width > WORD_BITS {
            return Err(format!("fields.{name}: {field} is not within 64 bits"));
        }
        let mask = (u64::MAX >> (WORD_BITS - slice.width)) << slice.lsb;
        if taken & mask != 0 {
            return Err(format!("fields.{name}: {field} overlaps another field"));
        }
        taken |= mask;
    }
    Ok(())
}

/// Places the table's entries one after the other, so that none crosses a word boundary.
fn place(entries: Named<Entry>) -> Result<Vec<Placed>, String> {
    let (mut word, mut lsb) = (0, 0);
    entries
        .into_iter()
        .map(|(name, Entry { width, doc })| {
            if width == 0 || width > 16 {
                return Err(format!("table: {name} is {width} bits wide, not 1 to 16"));
            }
            if lsb + width > WORD_BITS {
                (word, lsb) = (word + 1, 0);
            }
            let placed = Placed { name, word, lsb, width, doc };
            lsb += width;
            Ok(placed)
        })
        .collect()
}

/// `NO_CHIP` to `NoChip`.
fn camel(name: &str) -> String {
    name.split('_')
        .flat_map(|part| {
            let mut letters = part.chars();
            letters.next().into_iter().chain(letters.flat_map(char::to_lowercase).collect::<Vec<_>>())
        })
        .collect()
}

/// The generated files with their text, for the workspace at `root`.
///
/// # Errors
/// When the declaration can't be read or is wrong, or rustfmt is missing.
pub fn generated(root: &Path) -> io::Result<[(&'static str, String); 2]> {
    let text = std::fs::read_to_string(root.join(SOURCE))?;
    let interface =
        Interface::parse(&text).map_err(|error| io::Error::other(format!("{SOURCE}: {error}")))?;
    Ok([(RUST, formatted(root, &rust(&interface))?), (VERILOG, verilog(&interface))])
}

/// `text` as rustfmt writes it under this workspace's rustfmt.toml.
fn formatted(root: &Path, text: &str) -> io::Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    rustfmt.stdin.take().expect("piped").write_all(text.as_bytes())?;
    let output = rustfmt.wait_with_output()?;
    if !output.status.success() {
        return Err(io::Error::other("rustfmt refused the generated Rust"));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// The generated Rust module.
pub fn rust(interface: &Interface) -> String {
    let mut out = format!(
        "//! The channel's encoding, registers and cycle table.\n//!\n//! {HEAD}\n\nuse crate::Field;\n"
    );
    rust_limits(&mut out, interface);
    rust_fields(&mut out, interface);
    rust_verdicts(&mut out, interface);
    rust_registers(&mut out, interface);
    rust_table(&mut out, interface);
    out
}

fn rust_limits(out: &mut String, interface: &Interface) {
    for (module, doc, kind, entries) in [
        ("limits", "Sizes of the controller.", "usize", &interface.limits),
        ("opcode", "Opcodes of instruction words (G17).", "u8", &interface.opcodes),
    ] {
        let _ = writeln!(out, "\n/// {doc}\npub mod {module} {{");
        for (name, Number { value, doc }) in entries {
            let _ = writeln!(out, "    /// {doc}\n    pub const {name}: {kind} = {value};");
        }
        out.push_str("}\n");
    }
}

fn rust_fields(out: &mut String, interface: &Interface) {
    for (module, slices) in &interface.fields {
        let _ = writeln!(out, "\n/// Fields of a {module} word.\npub mod {module} {{\n    use super::Field;");
        for (name, Slice { lsb, width, doc }) in slices {
            let _ = writeln!(
                out,
                "    /// {doc}\n    pub const {name}: Field = Field {{ lsb: {lsb}, width: {width} }};"
            );
        }
        out.push_str("}\n");
    }
}

fn rust_verdicts(out: &mut String, interface: &Interface) {
    out.push_str(
        "\n/// What becomes of a transaction.\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\npub \
                  enum Verdict {\n",
    );
    for (name, verdict) in &interface.verdicts {
        let _ = writeln!(out, "    /// {}\n    {} = {},", verdict.doc, camel(name), verdict.value);
    }
    out.push_str(
        "}\n\nimpl Verdict {\n    /// All of them, in the order of their codes.\n    pub const ALL: &'static \
         [Verdict] = &[\n",
    );
    for (name, _) in &interface.verdicts {
        let _ = writeln!(out, "        Verdict::{},", camel(name));
    }
    out.push_str("    ];\n    /// The verdict of a code.\n    pub fn of(code: u8) -> Option<Verdict> {\n");
    out.push_str("        Self::ALL.iter().copied().find(|v| *v as u8 == code)\n    }\n");
    out.push_str("    /// What is wrong with the word, where a word is wrong.\n");
    out.push_str("    pub const fn word_reason(self) -> Option<&'static str> {\n        match self {\n");
    for (name, verdict) in &interface.verdicts {
        if let Some(word) = &verdict.word {
            let _ = writeln!(out, "            Verdict::{} => Some({word:?}),", camel(name));
        }
    }
    out.push_str("            _ => None,\n        }\n    }\n}\n");
}

fn rust_registers(out: &mut String, interface: &Interface) {
    out.push_str("\n/// Byte offsets of the registers, 64 bits each.\npub mod register {\n");
    for (name, r) in &interface.registers {
        let access = match r.access {
            Access::R => "Read only",
            Access::W => "Write only",
            Access::Rw => "Read and write",
        };
        let _ = writeln!(out, "    /// {} {access}.\n    pub const {name}: u16 = {:#05x};", r.doc, r.offset);
        if let Some(stride) = r.stride {
            let _ = writeln!(
                out,
                "    /// Bytes from one of the {} to the next.\n    pub const {name}_STRIDE: u16 = \
                 {stride:#x};",
                r.count.unwrap_or(1)
            );
        }
    }
    out.push_str("}\n");
}

fn rust_table(out: &mut String, interface: &Interface) {
    let words = interface.table_words();
    let _ = writeln!(
        out,
        "\n/// Words that a packed cycle table takes.\npub const TABLE_WORDS: usize = {words};"
    );
    out.push_str(
        "\n/// The cycle table of one interface and timing mode, as the controller keeps it. In\n\
                  /// cycles unless it says phases.\n",
    );
    out.push_str("#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]\npub struct CycleRegisters {\n");
    for entry in &interface.table {
        let _ = writeln!(out, "    /// {}\n    pub {}: u16,", entry.doc, entry.name);
    }
    out.push_str("}\n\nimpl CycleRegisters {\n");
    out.push_str(
        "    /// The table as register words.\n    ///\n    /// # Errors\n    /// The name of an \
                  entry that is too great for its field.\n",
    );
    out.push_str(
        "    pub fn pack(&self) -> Result<[u64; TABLE_WORDS], &'static str> {\n        let mut \
                  words = [0; TABLE_WORDS];\n        for (name, word, field, value) in [\n",
    );
    for Placed { name, word, lsb, width, .. } in &interface.table {
        let _ = writeln!(
            out,
            "            (\"{name}\", {word}usize, Field {{ lsb: {lsb}, width: {width} }}, self.{name}),"
        );
    }
    out.push_str(
        "        ] {\n            if u64::from(value) > field.max() {\n                return \
                  Err(name);\n            }\n",
    );
    out.push_str(
        "            words[word] |= field.put(u64::from(value));\n        }\n        Ok(words)\n    }\n}\n",
    );
}

/// The generated SystemVerilog header, for `include inside a module.
pub fn verilog(interface: &Interface) -> String {
    let mut out = format!(
        "// {HEAD}\n// For `include inside a module body; a module rarely uses them all.\n// verilator \
         lint_off UNUSEDPARAM\n"
    );
    let mut number = |prefix: &str, name: &str, bits: u32, value: u64, doc: &str| {
        let _ = writeln!(out, "// {doc}\nlocalparam [{}:0] {prefix}{name} = {bits}'d{value};", bits - 1);
    };
    for (name, n) in &interface.limits {
        number("LIMIT_", name, 32, n.value, &n.doc);
    }
    for (name, n) in &interface.opcodes {
        number("OPCODE_", name, 4, n.value, &n.doc);
    }
    for (name, v) in &interface.verdicts {
        number("VERDICT_", name, 8, v.value, &v.doc);
    }
    for (name, r) in &interface.registers {
        number("REGISTER_", name, 12, r.offset, &r.doc);
        if let Some(stride) = r.stride {
            number("REGISTER_", &format!("{name}_STRIDE"), 12, stride, "Bytes from one to the next.");
        }
    }
    let mut position = |prefix: &str, name: &str, lsb: u32, width: u32, doc: &str| {
        let prefix = prefix.to_uppercase();
        let name = name.to_uppercase();
        let _ = writeln!(
            out,
            "// {doc}\nlocalparam integer {prefix}_{name}_LSB = {lsb};\nlocalparam integer \
             {prefix}_{name}_WIDTH = {width};"
        );
    };
    for (prefix, slices) in &interface.fields {
        for (name, s) in slices {
            position(prefix, name, s.lsb, s.width, &s.doc);
        }
    }
    for entry in &interface.table {
        position("table", &entry.name, entry.word * WORD_BITS + entry.lsb, entry.width, &entry.doc);
    }
    let words = interface.table_words();
    let _ = writeln!(
        out,
        "// Words and bits that a packed cycle table takes.\nlocalparam integer TABLE_WORDS = {words};\n\
         localparam integer TABLE_BITS = {};",
        words * WORD_BITS
    );
    out.push_str("// verilator lint_on UNUSEDPARAM\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl Fn(&mut String)) -> String {
        let mut text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../rtl/interface.toml")).unwrap();
        change(&mut text);
        Interface::parse(&text).err().expect("refused")
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let replace = |from: &'static str, to: &'static str| {
            refused(move |text| {
                assert!(text.contains(from));
                *text = text.replacen(from, to, 1);
            })
        };
        assert!(replace("lsb = 32, width = 20", "lsb = 31, width = 20").contains("LENGTH overlaps"));
        assert!(
            replace("lsb = 60, width = 4", "lsb = 61, width = 4").contains("OPCODE is not within 64 bits")
        );
        assert!(replace("END = { value = 6", "END = { value = 5").contains("END and TIMER both are 5"));
        assert!(replace("stride = 0x20", "stride = 0x10").contains("doesn't fit its stride"));
        assert!(replace("offset = 0x008", "offset = 0x00c").contains("CONFIG"));
        assert!(replace("width = 2, doc = \"0 SDR", "width = 20, doc = \"0 SDR").contains("mode is 20 bits"));
        assert!(replace("value = 32, doc", "valeu = 32, doc").contains("limits.WORDS"));
    }

    #[test]
    fn generated_files_are_fresh() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (path, text) in generated(root).unwrap() {
            let found = std::fs::read_to_string(root.join(path)).unwrap();
            assert!(found == text, "{path} is stale: run `cargo xtask generate`");
        }
    }

    #[test]
    fn table_entries_follow_one_another_and_cross_no_word() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../rtl/interface.toml")).unwrap();
        let interface = Interface::parse(&text).unwrap();
        assert_eq!((interface.table[0].name.as_str(), interface.table[0].lsb), ("mode", 0));
        for pair in interface.table.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let follows = a.word == b.word && a.lsb + a.width == b.lsb;
            let wraps = a.word + 1 == b.word && b.lsb == 0 && a.lsb + a.width + b.width > WORD_BITS;
            assert!(follows || wraps, "{} and {}", a.name, b.name);
        }
    }
}
