//! The values of a statement's parameters, as tuples. Not single values: see [`Encode`](crate::types::Encode).
//! Rule: as many values as the tuple has, in its order.

use crate::error::{Mismatch, Result};
use crate::frontend::BindWriter;
use crate::types::{Encode, Oid, Type, TypeRef};

/// A tuple of values, from none to sixteen.
pub trait Values {
    /// How many there are.
    const COUNT: usize;

    /// The types to name in Parse; 0 leaves the choice to the server.
    fn hints() -> Vec<Oid>;

    /// Whether all values can be sent to parameters of these types.
    ///
    /// # Errors
    /// [`Mismatch`].
    fn check(types: &[TypeRef]) -> Result<(), Mismatch>;

    /// Writes the values to parameters of the types the server described.
    ///
    /// # Errors
    /// As [`BindWriter::encode`].
    fn write(&self, types: &[TypeRef], writer: &mut BindWriter<'_>) -> Result<()>;

    /// Writes the values to parameters of the types in [`Self::hints`].
    ///
    /// # Errors
    /// As [`BindWriter::encode`].
    fn write_as_hinted(&self, writer: &mut BindWriter<'_>) -> Result<()>;
}

fn check<V: Encode>(number: usize, ty: Option<&TypeRef>) -> Result<(), Mismatch> {
    match ty {
        Some(ty) if !V::accepts(ty) => Err(Mismatch::ParameterType {
            number,
            name: ty.name().to_owned(),
            rust: std::any::type_name::<V>(),
        }),
        _ => Ok(()),
    }
}

fn hinted<V: Encode>(value: &V, writer: &mut BindWriter<'_>) -> Result<()> {
    match V::type_hint().and_then(Type::from_oid) {
        Some(ty) => writer.encode(ty, value),
        // What has no type of its own is text that the server parses.
        None => writer.encode(&Type::unknown(0), value),
    }
}

macro_rules! values {
    ($count:literal $(, $value:ident $at:tt)*) => {
        impl<$($value: Encode),*> Values for ($($value,)*) {
            const COUNT: usize = $count;

            fn hints() -> Vec<Oid> {
                vec![$($value::type_hint().unwrap_or(0)),*]
            }

            fn check(types: &[TypeRef]) -> Result<(), Mismatch> {
                if types.len() != $count {
                    return Err(Mismatch::ParameterCount { expected: $count, found: types.len() });
                }
                $(check::<$value>($at + 1, types.get($at))?;)*
                Ok(())
            }

            fn write(&self, types: &[TypeRef], writer: &mut BindWriter<'_>) -> Result<()> {
                Self::check(types)?;
                let mut types = types.iter();
                $(
                    if let Some(ty) = types.next() {
                        writer.encode(ty, &self.$at)?;
                    }
                )*
                let _ = (&mut types, writer);
                Ok(())
            }

            fn write_as_hinted(&self, writer: &mut BindWriter<'_>) -> Result<()> {
                $(hinted(&self.$at, writer)?;)*
                let _ = writer;
                Ok(())
            }
        }
    };
}

values!(0);
values!(1, A 0);
values!(2, A 0, B 1);
values!(3, A 0, B 1, C 2);
values!(4, A 0, B 1, C 2, D 3);
values!(5, A 0, B 1, C 2, D 3, E 4);
values!(6, A 0, B 1, C 2, D 3, E 4, F 5);
values!(7, A 0, B 1, C 2, D 3, E 4, F 5, G 6);
values!(8, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
values!(9, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
values!(10, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
values!(11, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
values!(12, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
values!(13, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
values!(14, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
values!(15, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
values!(16, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
