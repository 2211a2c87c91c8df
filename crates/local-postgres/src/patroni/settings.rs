//! The configuration file of a member.

use std::path::Path;

use super::Patroni;

/// The settings that differ between members.
pub(super) struct Settings<'a> {
    pub(super) name: &'a str,
    pub(super) folder: &'a Path,
    pub(super) binaries: &'a Path,
    pub(super) server: u16,
    pub(super) interface: u16,
    /// The ports at which the others reach this member, and at which it reaches etcd.
    pub(super) server_wire: u16,
    pub(super) interface_wire: u16,
    pub(super) etcd_wire: u16,
}

impl Settings<'_> {
    /// The file's content. Without fsync, because nothing here loses power.
    ///
    /// Patroni speaks etcd's v2 interface. Before 3.0.3 it writes the leader's key without a condition
    /// through v3 when its lease has ended: a leader that wakes from a pause then takes the role back
    /// from its successor, and what the successor committed is lost (Patroni's pull request 2689).
    pub(super) fn text(&self) -> String {
        let Self {
            name,
            server,
            interface,
            server_wire,
            interface_wire,
            etcd_wire,
            ..
        } = self;
        let (folder, binaries) = (self.folder.display(), self.binaries.display());
        let ttl = Patroni::TTL.as_secs();
        format!(
            r#"
scope: registrar
name: {name}
restapi:
  listen: 127.0.0.1:{interface}
  connect_address: 127.0.0.1:{interface_wire}
etcd:
  hosts: ["127.0.0.1:{etcd_wire}"]
  use_proxies: true
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 1
    retry_timeout: 3
    primary_start_timeout: 0
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 200, fsync: "off"}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}]
postgresql:
  listen: 127.0.0.1:{server}
  connect_address: 127.0.0.1:{server_wire}
  data_dir: "{folder}/data"
  bin_dir: "{binaries}"
  pgpass: "{folder}/pgpass"
  authentication:
    superuser: {{username: postgres, password: postgres}}
    replication: {{username: replicator, password: replicator}}
  parameters: {{unix_socket_directories: "{folder}"}}
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
"#
        )
    }
}
