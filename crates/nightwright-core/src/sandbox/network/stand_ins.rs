//! Addresses that stand for names. Programs inside get them as answers of DNS, so that their
//! connections show which name they asked for.

use core::net::Ipv4Addr;
use std::collections::HashMap;

/// The address of the bridge, which also answers DNS.
pub const BRIDGE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The address of the sandbox.
pub const INSIDE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// The first address that stands for a name. The range for benchmarks is used nowhere else.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 0);
/// The maximum number of names that have an address at the same time.
pub const MAX_NAMES: u32 = 1 << 14;

/// The names that have an address. When all addresses are taken, the oldest name loses its address.
#[derive(Debug, Default)]
pub struct StandIns {
    names: Vec<String>,
    places: HashMap<String, u32>,
    next: u32,
}

impl StandIns {
    /// Returns the address that stands for a name.
    pub fn address_of(&mut self, name: &str) -> Ipv4Addr {
        let place = self.places.get(name).copied().unwrap_or_else(|| self.add(name));
        Ipv4Addr::from(u32::from(FIRST) + place)
    }

    /// Returns the name that an address stands for.
    pub fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        let place = u32::from(address).checked_sub(u32::from(FIRST))?;
        self.names.get(usize::try_from(place).ok()?).map(String::as_str)
    }

    fn add(&mut self, name: &str) -> u32 {
        let place = self.next;
        self.next = (self.next + 1) % MAX_NAMES;
        let index = usize::try_from(place).expect("a place is small");
        if let Some(old) = self.names.get_mut(index) {
            self.places.remove(&std::mem::replace(old, name.to_owned()));
        } else {
            self.names.push(name.to_owned());
        }
        self.places.insert(name.to_owned(), place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_keeps_its_address_until_all_are_taken() {
        let mut names = StandIns::default();
        let first = names.address_of("a.example");
        assert_eq!(first, FIRST);
        assert_eq!(names.address_of("b.example"), Ipv4Addr::new(198, 18, 1, 1));
        assert_eq!(names.address_of("a.example"), first);
        assert_eq!(names.name_of(first), Some("a.example"));
        for number in 2..MAX_NAMES {
            names.address_of(&format!("h{number}"));
        }
        assert_eq!(names.name_of(first), Some("a.example"));
        assert_eq!(names.address_of("late.example"), first);
        assert_eq!(names.name_of(first), Some("late.example"));
        assert_ne!(names.address_of("a.example"), first);
        assert_eq!(names.places.len(), names.names.len());
    }

    #[test]
    fn other_addresses_stand_for_nothing() {
        let mut names = StandIns::default();
        names.address_of("a.example");
        for address in [BRIDGE, INSIDE, Ipv4Addr::new(198, 18, 1, 1), Ipv4Addr::UNSPECIFIED] {
            assert_eq!(names.name_of(address), None);
        }
    }
}
