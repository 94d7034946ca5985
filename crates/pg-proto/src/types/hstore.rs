//! Maps of strings as `hstore`. Not the bytes; `composite` walks through those.
//! Rule: a value may be NULL, a key may not; the server keeps neither the order nor a key twice.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use bytes::{BufMut as _, BytesMut};

use super::composite::HstoreRef;
use super::kind::Shape;
use super::{Decode, DecodeError, Encode, EncodeError, Encoded, Type, decode, encode};

/// Appends `count` entries.
pub(crate) fn write_entries<'e>(
    count: usize,
    entries: impl Iterator<Item = (&'e String, &'e Option<String>)>,
    ty: &Type,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    if !matches!(ty.shape(), Shape::Hstore) {
        return encode::mismatch(ty, "hstore");
    }
    encode::whole(out, |out| {
        out.put_i32(i32::try_from(count).map_err(|_| EncodeError::TooLong)?);
        for (key, value) in entries {
            encode::part(out, |out| key.encode(Type::TEXT, out))?;
            encode::part(out, |out| value.encode(Type::TEXT, out))?;
        }
        Encoded::BINARY
    })
}

/// Reads the entries into any collection.
pub(crate) fn read_entries<C: Default + Extend<(String, Option<String>)>>(
    bytes: &[u8],
) -> Result<C, DecodeError> {
    let mut hstore = HstoreRef::scan(bytes)?;
    let mut entries = C::default();
    while let Some((key, value)) = hstore.entry()? {
        entries.extend([(key.to_owned(), value.map(str::to_owned))]);
    }
    Ok(entries)
}

/// Maps, with what is asked of their hashers to send them and to read them.
macro_rules! maps {
    ($([$($send:tt)*] [$($read:tt)*] $rust:ty;)*) => {
        $(
            impl<$($send)*> Encode for $rust {
                fn accepts(ty: &Type) -> bool {
                    matches!(ty.shape(), Shape::Hstore)
                }

                fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                    write_entries(self.len(), self.iter(), ty, out)
                }
            }

            impl<'a, $($read)*> Decode<'a> for $rust {
                fn accepts(ty: &Type) -> bool {
                    matches!(ty.shape(), Shape::Hstore)
                }

                fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    decode::accepted::<Self>(ty, "map")?;
                    read_entries(bytes)
                }

                /// Fails: ask for binary format.
                fn from_text(ty: &Type, _bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    decode::mismatch(ty, "map from text format")
                }
            }
        )*
    };
}

maps! {
    [S: BuildHasher] [S: BuildHasher + Default] HashMap<String, Option<String>, S>;
    [] [] BTreeMap<String, Option<String>>;
}
