//! Who waits in a script, and what became of it.

use super::reading::{key_in, value};
use super::{Held, Limiter, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tidegate::{Event, Reservation, Started, Status, Ticket};

/// How a wait ended; a concurrency limiter grants with a permit.
enum End {
    Granted(Option<Held>),
    Refused(Status),
}

type Told = Arc<Mutex<Vec<(String, End)>>>;

struct Wait {
    limiter: String,
    /// `None` if it was over at once.
    ticket: Option<Ticket>,
    is_over: bool,
}

#[derive(Default)]
pub(crate) struct Waits {
    waits: HashMap<String, Wait>,
    /// What listeners were told and nobody has looked at yet.
    told: Told,
}

/// A wait that ended: its name, what to print, and the permit it was granted with the name of its limiter.
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) said: &'static str,
    pub(crate) permit: Option<(String, Held)>,
}

impl End {
    fn said(&self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::Refused(status) => status.name(),
        }
    }
}

impl Waits {
    /// What came of asking, and the permit if it was granted at once.
    pub(crate) fn wait(
        &mut self,
        name: &str,
        (limiter_name, limiter): (&str, &Limiter),
        words: &[&str],
    ) -> Result<(&'static str, Option<Held>)> {
        if self.waits.get(name).is_some_and(|wait| !wait.is_over) {
            return Err("it waits already".into());
        }
        let cost = value(words, "cost").map_or(Ok(1), str::parse)?;
        let timeout = value(words, "timeout").map(str::parse).transpose()?.map(Duration::from_nanos);
        let (said, permit, ticket) = match (limiter, key_in(words)) {
            (Limiter::Rate(limiter), None) => {
                outcome(limiter.acquire_by_ticket(cost, timeout, self.listener(name, tokens))?, tokens)
            }
            (Limiter::KeyedRate(limiter), Some(key)) => {
                outcome(limiter.acquire_by_ticket(key, cost, timeout, self.listener(name, tokens))?, tokens)
            }
            (Limiter::Concurrency(limiter), None) => {
                let held = |permit| Some(Held::Plain(Some(permit)));
                outcome(limiter.acquire_by_ticket(cost, timeout, self.listener(name, held))?, held)
            }
            (Limiter::KeyedConcurrency(limiter), Some(key)) => {
                let held = |permit| Some(Held::Keyed(Some(permit)));
                outcome(limiter.acquire_by_ticket(key, cost, timeout, self.listener(name, held))?, held)
            }
            _ => return Err("a key, for keyed limiters and only for them".into()),
        };
        let wait = Wait { limiter: limiter_name.to_owned(), ticket, is_over: ticket.is_none() };
        self.waits.insert(name.to_owned(), wait);
        Ok((said, permit))
    }

    fn listener<T>(
        &self,
        name: &str,
        permit: impl Fn(T) -> Option<Held> + Send + Sync + 'static,
    ) -> impl Fn(Event<T>) + Send + Sync + 'static {
        let (name, told) = (name.to_owned(), self.told.clone());
        move |event| {
            let end = match event {
                Event::Granted(granted) => End::Granted(permit(granted)),
                Event::Refused(status) => End::Refused(status),
                // Whatever can be had on a clock that is moved by hand was granted when it was moved.
                Event::PollAgain => return,
            };
            told.lock().unwrap_or_else(PoisonError::into_inner).push((name.clone(), end));
        }
    }

    pub(crate) fn limiter_of(&self, name: &str) -> Result<&str> {
        Ok(&self.waits.get(name).ok_or("it never waited")?.limiter)
    }

    /// Who cancels is told by the answer and by its listener.
    pub(crate) fn cancel(&mut self, name: &str, limiter: &Limiter) -> Result<&'static str> {
        let wait = self.waits.get_mut(name).ok_or("it never waited")?;
        let Some(ticket) = wait.ticket else { return Ok("too_late") };
        let won = match limiter {
            Limiter::Rate(limiter) => limiter.cancel_ticket(ticket)?,
            Limiter::Concurrency(limiter) => limiter.cancel_ticket(ticket)?,
            Limiter::KeyedRate(limiter) => limiter.cancel_ticket(ticket)?,
            Limiter::KeyedConcurrency(limiter) => limiter.cancel_ticket(ticket)?,
        };
        if !won {
            return Ok("too_late");
        }
        wait.is_over = true;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let own = told.iter().position(|(other, _)| other == name).ok_or("its listener wasn't told")?;
        Ok(told.remove(own).1.said())
    }

    /// Those that ended since, by name.
    pub(crate) fn ended(&mut self) -> Result<Vec<Ended>> {
        let mut told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        told.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut ended = Vec::new();
        for (name, end) in told {
            let wait = self.waits.get_mut(&name).filter(|wait| !wait.is_over).ok_or("told of one that is over")?;
            wait.is_over = true;
            let said = end.said();
            let permit = match end {
                End::Granted(Some(permit)) => Some((wait.limiter.clone(), permit)),
                _ => None,
            };
            ended.push(Ended { name, said, permit });
        }
        Ok(ended)
    }
}

/// Tokens are nothing to be kept.
fn tokens((): ()) -> Option<Held> {
    None
}

fn outcome<T>(started: Started<T>, permit: impl Fn(T) -> Option<Held>) -> (&'static str, Option<Held>, Option<Ticket>) {
    match started {
        Started::Granted(granted) => ("granted", permit(granted), None),
        Started::Refused(status) => (status.name(), None, None),
        Started::Pending { ticket, .. } => ("pending", None, Some(ticket)),
    }
}

/// What came of reserving.
pub(crate) fn reserve(limiter: &Limiter, words: &[&str]) -> Result<std::result::Result<Reservation, Status>> {
    let cost = value(words, "cost").map_or(Ok(1), str::parse)?;
    let max_wait = value(words, "max_wait").map(str::parse).transpose()?.map(Duration::from_nanos);
    let reserved = match (limiter, key_in(words)) {
        (Limiter::Rate(limiter), None) => limiter.reserve(cost, max_wait),
        (Limiter::KeyedRate(limiter), Some(key)) => limiter.reserve(key, cost, max_wait),
        _ => return Err("a rate limiter, with a key if it is keyed".into()),
    };
    match reserved {
        Ok(reservation) => Ok(Ok(reservation)),
        Err(tidegate::AcquireError::Refused(refusal)) => Ok(Err(refusal.status)),
        Err(tidegate::AcquireError::Invalid(mistake)) => Err(mistake.into()),
    }
}
