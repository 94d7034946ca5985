//! Requests about the server's services: attach, start, ask, detach. What a service is told and answers is `service`'s.
//! Rule: a service is attached on a connection of its own, never beside a database.

use crate::error::Misuse;
use crate::handle::Service;
use crate::op;
use crate::wire::{put_cstring, sendable};

use super::{Items, Requests};

const MANAGER: &str = "service_mgr";

impl Requests<'_> {
    /// op_service_attach. Answered by a response with the handle.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn service_attach(&mut self, parameters: &[u8]) -> Result<(), Misuse> {
        self.open(op::SERVICE_ATTACH, MANAGER, parameters)
    }

    /// op_service_start: `action` is what to do and its parameters. Answered by a response as soon as the service runs.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn service_start(&mut self, service: Service, action: &[u8]) -> Result<(), Misuse> {
        sendable(action, "service's action")?;
        self.words([op::SERVICE_START, service.0, 0]);
        put_cstring(self.out, action);
        Ok(())
    }

    /// op_service_info: what a service says, or about the server. Answered by a response with [`crate::service`] as data.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn service_info(&mut self, service: Service, asked: Items<'_>) -> Result<(), Misuse> {
        sendable(asked.items, "list of information items")?;
        self.words([op::SERVICE_INFO, service.0, 0]);
        put_cstring(self.out, &[]);
        put_cstring(self.out, asked.items);
        self.words([asked.bytes_max.into()]);
        Ok(())
    }

    /// op_service_detach. Answered by a response.
    pub fn service_detach(&mut self, service: Service) {
        self.words([op::SERVICE_DETACH, service.0]);
    }
}
