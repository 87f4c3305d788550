//! The record of the hosts that programs inside contacted, or tried to.

use std::collections::HashMap;

use super::{HostPort, Refusal};

/// The maximum number of recorded hosts. Further ones are only counted.
pub const MAX_CONTACTS: usize = 1_000;

/// A host and port, and how often programs inside contacted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    pub target: HostPort,
    /// The number of allowed connections.
    pub allowed: u64,
    /// The number of refused connections.
    pub refused: u64,
    /// The refusal that was recorded first.
    pub refusal: Option<Refusal>,
}

/// A host that was contacted or refused for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactNews {
    Contacted(HostPort),
    Refused(Refusal),
}

#[derive(Clone, Debug, Default)]
pub struct Contacts {
    known: Vec<Contact>,
    places: HashMap<HostPort, usize>,
    omitted: u64,
    /// Connections to these are not recorded.
    ignored: Vec<HostPort>,
}

impl Contacts {
    /// Records no further connections to a host, because nightwright itself tests them.
    pub fn ignore(&mut self, target: HostPort) {
        if !self.ignored.contains(&target) {
            self.ignored.push(target);
        }
    }

    /// Records a connection. Returns news once per host, port and result.
    pub fn record(&mut self, target: &HostPort, refusal: Option<&Refusal>) -> Option<ContactNews> {
        let place = match self.places.get(target) {
            _ if self.ignored.contains(target) => return None,
            Some(place) => *place,
            None if self.known.len() == MAX_CONTACTS => {
                self.omitted += 1;
                return None;
            }
            None => {
                let target = target.clone();
                self.places.insert(target.clone(), self.known.len());
                self.known.push(Contact { target, allowed: 0, refused: 0, refusal: None });
                self.known.len() - 1
            }
        };
        let contact = &mut self.known[place];
        match refusal {
            None => {
                contact.allowed += 1;
                (contact.allowed == 1).then(|| ContactNews::Contacted(target.clone()))
            }
            Some(refusal) => {
                contact.refused += 1;
                (contact.refused == 1).then(|| {
                    contact.refusal = Some(refusal.clone());
                    ContactNews::Refused(refusal.clone())
                })
            }
        }
    }

    /// All recorded hosts, in the order of their first connection.
    pub fn all(&self) -> &[Contact] {
        &self.known
    }

    /// The number of connections to hosts that are not recorded.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

#[cfg(test)]
mod tests {
    use super::super::Policy;
    use super::*;

    fn target(number: usize) -> HostPort {
        format!("h{number}.example:80").parse().unwrap()
    }

    #[test]
    fn each_host_is_news_once_per_result() {
        let mut contacts = Contacts::default();
        let refusal = Policy::default().check_host_port(80).unwrap_err();
        let refusal = Refusal { target: target(1), ..refusal };
        let contacted = Some(ContactNews::Contacted(target(1)));
        assert_eq!(contacts.record(&target(1), None), contacted);
        assert_eq!(contacts.record(&target(1), None), None);
        let refused = Some(ContactNews::Refused(refusal.clone()));
        assert_eq!(contacts.record(&target(1), Some(&refusal)), refused);
        assert_eq!(contacts.record(&target(1), Some(&refusal)), None);
        let all = contacts.all();
        assert_eq!((all.len(), all[0].allowed, all[0].refused), (1, 2, 2));
    }

    #[test]
    fn an_ignored_host_is_not_recorded() {
        let mut contacts = Contacts::default();
        contacts.ignore(target(1));
        assert_eq!(contacts.record(&target(1), None), None);
        assert!(contacts.all().is_empty());
    }

    #[test]
    fn the_record_is_bounded() {
        let mut contacts = Contacts::default();
        let news = (0..MAX_CONTACTS + 5).filter_map(|n| contacts.record(&target(n), None));
        assert_eq!(news.count(), MAX_CONTACTS);
        assert_eq!((contacts.all().len(), contacts.omitted()), (MAX_CONTACTS, 5));
        assert_eq!(contacts.record(&target(0), None), None, "a known host still counts");
        assert_eq!(contacts.all()[0].allowed, 2);
    }
}
