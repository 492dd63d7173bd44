//! Two macros that declare packed fields and numbered enums, so that shifts and number tables are in one
//! place.

/// Declares a newtype over an unsigned integer with named bit fields: a getter and a `with_…` setter for
/// each.
///
/// A field's type is `bool` (one bit) or an unsigned integer. The setters assert that the value fits: a
/// value that doesn't is a bug of the caller, and never input.
macro_rules! bit_fields {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($raw:ty) {
            $( $(#[$field_meta:meta])* $get:ident, $with:ident: $low:literal,
                $width:literal => $kind:ident; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $raw);

        impl $name {
            $(
                $(#[$field_meta])*
                #[inline]
                pub const fn $get(self) -> $kind {
                    let value = (self.0 >> $low) & (<$raw>::MAX >> (<$raw>::BITS - $width));
                    bit_fields!(@from value, $kind)
                }
                #[doc = concat!("This value with [`Self::", stringify!($get), "`] replaced. Asserts that it \
                    fits.")]
                #[inline]
                #[must_use]
                pub const fn $with(self, value: $kind) -> Self {
                    let mask = <$raw>::MAX >> (<$raw>::BITS - $width);
                    let value = value as $raw;
                    assert!(value <= mask, concat!(stringify!($get), " does not fit its field"));
                    $name((self.0 & !(mask << $low)) | (value << $low))
                }
            )*
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))$( .field(stringify!($get), &self.$get()) )*.finish()
            }
        }
    };
    (@from $value:ident, bool) => { $value != 0 };
    (@from $value:ident, $kind:ident) => { $value as $kind };
}

/// Declares an enum whose variants are the values that a standard names. `from_raw` returns `None` for
/// other values; `Display` prints the standard's name.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident($raw:ty) {
            $( $(#[$variant_meta:meta])* $variant:ident = $value:literal, $text:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $( $(#[$variant_meta])* #[doc = concat!("`", stringify!($value), "`: ", $text, ".")] $variant, )*
        }

        impl $name {
            /// Every named value, in the standard's order.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];
            /// The variant of a raw value; `None` when the value is reserved or vendor specific.
            pub const fn from_raw(raw: $raw) -> Option<Self> {
                match raw {
                    $( $value => Some($name::$variant), )*
                    _ => None,
                }
            }
            /// The value on the wire.
            pub const fn raw(self) -> $raw {
                match self {
                    $( $name::$variant => $value, )*
                }
            }
            /// The standard's name for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $( $name::$variant => $text, )*
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    extern crate std;

    bit_fields! {
        /// A sample.
        pub struct Sample(u32) {
            /// One bit.
            flag, with_flag: 0, 1 => bool;
            /// Twelve bits in the middle.
            middle, with_middle: 4, 12 => u16;
            /// The top half.
            top, with_top: 16, 16 => u16;
        }
    }

    bit_fields! {
        /// A field as wide as its integer.
        pub struct Whole(u8) {
            /// All of it.
            all, with_all: 0, 8 => u8;
        }
    }

    #[test]
    fn a_field_is_read_and_replaced_without_touching_its_neighbours() {
        let s = Sample(0xffff_ffff).with_middle(0x123);
        assert_eq!(s.0, 0xffff_123f);
        assert_eq!((s.flag(), s.middle(), s.top()), (true, 0x123, 0xffff));
        assert_eq!(s.with_flag(false).with_top(0).0, 0x123e);
        assert_eq!(Whole(0).with_all(0xa5).all(), 0xa5);
    }

    #[test]
    #[should_panic(expected = "middle does not fit its field")]
    fn a_value_wider_than_its_field_is_a_bug() {
        let _ = Sample(0).with_middle(0x1000);
    }
}
