//! The mails of a test, which go nowhere. One list for all mailers that are given it: those of an application and of what is mounted in it.
//! Rule: it is bounded, since something may send without an end.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::error::Error;
use crate::limits::COLLECTED_MAX;
use crate::message::Mail;

/// The mails that a test has collected. All clones are the same list.
#[derive(Clone, Default)]
pub struct TestMails(Rc<RefCell<Vec<Mail>>>);

/// How many there are; what they say may be private.
impl fmt::Debug for TestMails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestMails({})", self.0.borrow().len())
    }
}

impl TestMails {
    /// Those so far, in the order in which they were sent.
    pub fn list(&self) -> Vec<Mail> {
        self.0.borrow().clone()
    }

    pub(crate) fn add(&self, mail: Mail) -> Result<(), Error> {
        let mut mails = self.0.borrow_mut();
        if mails.len() >= COLLECTED_MAX {
            let message = format!("the test has sent COLLECTED_MAX ({COLLECTED_MAX}) mails");
            return Err(Error::Mail(message));
        }
        mails.push(mail);
        Ok(())
    }
}
