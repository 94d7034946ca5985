//! The clients: of any service of gRPC, and of the databases of a server of Tkrzw-RPC. Knows no engine.
//! Both stay on their thread, and make one connection when it is needed and again when it was lost.

mod call;
mod channel;
mod grpc;
mod plain;
mod target;
#[cfg(feature = "tkrzw")]
mod tkrzw;
mod tls;

pub use self::grpc::{GrpcAnswer, GrpcClient, GrpcFailure, GrpcMessage, GrpcStream};
pub use self::target::RpcTarget;
#[cfg(feature = "service")]
pub(crate) use self::tkrzw::WatchMessage;
#[cfg(feature = "tkrzw")]
pub use self::tkrzw::{
    Client, CompareExchange, Duplex, ExchangeOutcome, NotifyMode, Options, RekeyOutcome, Watch,
};
pub use self::tls::{ClientIdentity, Tls};
