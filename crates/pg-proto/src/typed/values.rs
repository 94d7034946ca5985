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

fn check<V: Encode>(parameter: Option<(usize, &TypeRef)>) -> Result<(), Mismatch> {
    match parameter {
        Some((number, ty)) if !V::accepts(ty) => Err(Mismatch::ParameterType {
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
    ($($value:ident)*) => {
        #[allow(non_snake_case, clippy::let_unit_value, reason = "the letters are types and values")]
        impl<$($value: Encode),*> Values for ($($value,)*) {
            const COUNT: usize = <[&str]>::len(&[$(stringify!($value)),*]);

            fn hints() -> Vec<Oid> {
                vec![$($value::type_hint().unwrap_or(0)),*]
            }

            fn check(types: &[TypeRef]) -> Result<(), Mismatch> {
                let (expected, found) = (Self::COUNT, types.len());
                if found != expected {
                    return Err(Mismatch::ParameterCount { expected, found });
                }
                let mut types = (1..).zip(types);
                $(check::<$value>(types.next())?;)*
                let _ = &mut types;
                Ok(())
            }

            fn write(&self, types: &[TypeRef], writer: &mut BindWriter<'_>) -> Result<()> {
                Self::check(types)?;
                let ($($value,)*) = self;
                let mut types = types.iter();
                $(
                    if let Some(ty) = types.next() {
                        writer.encode(ty, $value)?;
                    }
                )*
                let _ = (&mut types, writer);
                Ok(())
            }

            fn write_as_hinted(&self, writer: &mut BindWriter<'_>) -> Result<()> {
                let ($($value,)*) = self;
                $(hinted($value, writer)?;)*
                let _ = writer;
                Ok(())
            }
        }
    };
}

tuples!(values A B C D E F G H I J K L M N O P);
