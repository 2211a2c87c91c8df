//! The checkpoint of a consumer, in a store with the same messages.

use store_fault::shared;

use crate::{Bookmark, Category, CategoryRead, Checkpoint, Error, MessageStore};

/// Saves the checkpoint of a line. Refuses one of messages that the store does not have.
pub(super) async fn save<S: MessageStore>(
    store: &S,
    line: u64,
    checkpoint: &Checkpoint,
) -> Result<(), Error> {
    let Checkpoint { consumer, handled } = checkpoint;
    let saved = async {
        let place = place(store, *handled).await?;
        store.save_checkpoint(consumer, place).await
    };
    match saved.await {
        Ok(_) => Ok(()),
        Err(
            refused @ (Error::PastReplaced { .. }
            | Error::AfterBeyondHead { .. }
            | Error::Invalid { .. }),
        ) => {
            let source = shared(format!(
                "the checkpoint of consumer {consumer:?}: {refused}"
            ));
            Err(Error::Import { line, source })
        }
        Err(failed) => Err(failed),
    }
}

/// The place after the handled message, without its id if the message was deleted before the export. A
/// store that knows of no such deletion would refuse the id.
async fn place<S: MessageStore>(store: &S, handled: Bookmark) -> Result<Bookmark, Error> {
    let all = Category::all();
    let checked = CategoryRead::new().start(handled).batch_size(0);
    let replaced = match store.get_category_messages(&all, checked).await {
        Err(replaced @ Error::PastReplaced { .. }) => replaced,
        checked => return checked.map(|_| handled),
    };
    let there = CategoryRead::new().start(handled.position).batch_size(1);
    let there = store.get_category_messages(&all, there).await?;
    match there.first() {
        Some(next) if next.global_position() > handled.position => Ok(handled.position.into()),
        _ => Err(replaced),
    }
}
