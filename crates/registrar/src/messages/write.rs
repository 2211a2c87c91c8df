use std::fmt;
use std::io::Read as _;

use message_store::{ExpectedVersion, Message, MessageStore as _, StreamName};
use serde::Serialize;
use uuid::Uuid;

use super::Target;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::Access;

/// Write one message to a stream. Exit code 1 if the stream does not have the expected version.
#[derive(clap::Args)]
pub(crate) struct Write {
    #[command(flatten)]
    target: Target,
    /// The stream.
    stream: StreamName,
    /// The type of the message.
    message_type: String,
    /// The data, a JSON text; - reads it from the standard input.
    #[arg(short, long, default_value = "{}")]
    data: String,
    /// The metadata, a JSON text.
    #[arg(short, long)]
    metadata: Option<String>,
    /// The id of the message. Writing the same message with the same id again changes nothing.
    #[arg(long)]
    id: Option<Uuid>,
    /// The version that the stream must have; -1 for a stream without messages.
    #[arg(long, value_name = "VERSION", allow_negative_numbers = true)]
    expect: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    position: u64,
    global_position: u64,
}

impl fmt::Display for Written {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} (global position {})",
            self.position, self.global_position
        )
    }
}

impl Write {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let expected = ExpectedVersion::from_number(self.expect)?;
        let mut data = self.data;
        if data == "-" {
            data.clear();
            std::io::stdin().read_to_string(&mut data)?;
        }
        let message = Message::builder(self.message_type).data_json(data);
        let message = self
            .metadata
            .into_iter()
            .fold(message, |message, metadata| message.metadata_json(metadata));
        let message = self
            .id
            .into_iter()
            .fold(message, |message, id| message.id(id));
        let message = message.build()?;
        let store = self.target.open(Access::Write).await?;
        let written = store.write_message(&self.stream, message, expected).await?;
        store.close().await;
        Ok(output.print(&Written {
            position: written.position.get(),
            global_position: written.global_position.get(),
        })?)
    }
}
