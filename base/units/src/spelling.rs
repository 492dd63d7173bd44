/// The longest name that [`edit_distance`] compares with, in characters.
const NAME_CHARS_MAX: usize = 64;

/// How many characters to insert, remove, replace or swap with their neighbour to make `wrong` into `name`
/// (optimal string alignment). `usize::MAX` for a `name` of more than 64 characters.
///
/// ```
/// assert_eq!(aster_units::edit_distance("iodpeth", "iodepth"), 1);
/// ```
pub fn edit_distance(wrong: &str, name: &str) -> usize {
    let mut chars = ['\0'; NAME_CHARS_MAX];
    let mut length = 0;
    for c in name.chars() {
        let Some(at) = chars.get_mut(length) else { return usize::MAX };
        *at = c;
        length += 1;
    }
    let name = &chars[..length];
    // Row `i` has the distances of the first `i` characters of `wrong` to each beginning of `name`.
    let mut rows = [[0; NAME_CHARS_MAX + 1]; 3];
    rows[1] = core::array::from_fn(|j| j);
    let mut before = None;
    for (i, x) in wrong.chars().enumerate() {
        let [before_last, last, row] = &mut rows;
        row[0] = i + 1;
        for (j, &y) in name.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if j > 0 && before == Some(y) && name[j - 1] == x {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        rows.rotate_left(1);
        before = Some(x);
    }
    rows[1][length]
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn distances_count_single_mistakes_as_one() {
        for (a, b, distance) in [
            ("iodepth", "iodepth", 0),
            ("iodpeth", "iodepth", 1),
            ("iodeph", "iodepth", 1),
            ("ioddepth", "iodepth", 1),
            ("", "rw", 2),
            ("kitten", "sitting", 3),
            ("\u{b5}s", "us", 1),
            // No character takes part in two edits.
            ("ca", "abc", 3),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn what_is_longer_than_every_name_is_near_to_none() {
        let long = "long".repeat(16);
        assert_eq!((edit_distance(&long, "long"), edit_distance("long", &long)), (60, 60));
        assert_eq!(edit_distance("long", &"long".repeat(17)), usize::MAX);
        assert_eq!(edit_distance(&"long".repeat(50), "long"), 196);
    }
}
