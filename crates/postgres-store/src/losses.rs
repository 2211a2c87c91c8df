use crate::hosts::Hosts;
use crate::hosts::host_or_socket;
use crate::limiter::Limiter;

/// Logs writes whose answer was lost.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    limiter: Limiter,
    /// Whether the last loss was logged.
    is_told: bool,
}

impl Losses {
    pub(crate) fn lost(&mut self, hosts: &Hosts) {
        let admitted = self.limiter.admit();
        self.is_told = admitted.is_some();
        let Some(suppressed) = admitted else {
            return;
        };
        let server = hosts.likely_one();
        tracing::warn!(
            host = host_or_socket(server),
            port = server.get_port(),
            database = server.get_database(),
            suppressed,
            "the answer to a write was lost: the store looks whether it was committed"
        );
    }

    /// Of the writes, `found` were committed and `repeated` are sent again.
    pub(crate) fn looked_up(&self, hosts: &Hosts, found: usize, repeated: usize) {
        if self.is_told {
            let database = hosts.likely_one().get_database();
            tracing::info!(
                database,
                found,
                repeated,
                "writes whose answer was lost were looked up"
            );
        }
    }
}
