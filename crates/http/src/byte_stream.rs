//! What a connection is to those who only move its bytes, whatever it is made of. Knows no protocol.

use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes in both directions.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin {}

impl<I: AsyncRead + AsyncWrite + Unpin> ByteStream for I {}
