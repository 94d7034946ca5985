//! How the generated service turns bytes into messages: prost, with buffers for messages of a few bytes. Knows no message.
//! tonic's own codec takes 8 KiB twice for every call, which costs more than the calls of this service do.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// Bytes that a buffer begins with and grows by.
const BUFFER_BYTES: usize = 512;

/// Answers are gathered up to this size before they are given to the connection.
const GATHERED_BYTES: usize = 32 * 1024;

/// Encodes `T`, decodes `U`.
#[derive(Debug)]
pub(crate) struct SmallBuffers<T, U>(PhantomData<fn(T) -> U>);

impl<T, U> Default for SmallBuffers<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for SmallBuffers<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::raw_encoder(settings())
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstCodec::<T, U>::raw_decoder(settings())
    }
}

fn settings() -> BufferSettings {
    BufferSettings::new(BUFFER_BYTES, GATHERED_BYTES)
}
