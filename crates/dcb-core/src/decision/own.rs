use tokio::time::sleep;

use crate::attempts::Attempts;
use crate::{AppendCondition, Error, EventStore, Projected, Projection};

/// No second projection. See [`DecisionModel::and`](crate::DecisionModel::and).
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

/// The second projection of a decision, or none. Only this crate can implement it.
pub trait Own: sealed::Sealed + Sync {
    /// The state; `()` without a projection.
    type State;

    /// Reads the state and the conditions that protect it.
    fn read<S: EventStore>(
        &self,
        store: &S,
    ) -> impl Future<Output = Result<(Self::State, Vec<AppendCondition>), Error>> + Send;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Nothing {}
    impl<O: crate::Projection> Sealed for O {}
}

impl Own for Nothing {
    type State = ();

    async fn read<S: EventStore>(&self, _: &S) -> Result<((), Vec<AppendCondition>), Error> {
        Ok(((), Vec::new()))
    }
}

impl<O: Projection> Own for O {
    type State = O::State;

    async fn read<S: EventStore>(
        &self,
        store: &S,
    ) -> Result<(O::State, Vec<AppendCondition>), Error> {
        let Projected { state, condition } = read_in_crowd(store, self).await?;
        Ok((state, vec![condition]))
    }
}

/// Projects; waits while the store runs too many projections. A crowd must not be refused.
pub(super) async fn read_in_crowd<S: EventStore, P: Projection>(
    store: &S,
    projection: &P,
) -> Result<Projected<P::State>, Error> {
    loop {
        match store.project(projection).await {
            Err(Error::TooManyProjections { .. }) => sleep(Attempts::PERMIT_PAUSE).await,
            projected => return projected,
        }
    }
}
