//! Each planted fault is found, and by the finding that names it.

use crate::broken::{Fault, Store};
use peer_protocol::{Promise, Race, race};
use referee::{Finding, check};
use std::sync::Arc;

const RACES: u64 = 20;

/// Races until a finding is wanted, and returns all findings.
async fn findings(fault: Fault, is_wanted: impl Fn(&Finding) -> bool) -> Vec<Finding> {
    let store = Arc::new(Store::new(fault));
    let mut all = Vec::new();
    for seed in 1..=RACES {
        let small = Race {
            seed,
            callers: 8,
            followers: 2,
            calls: 60,
            repeats: true,
            drops: true,
        };
        let history = race(&store, &small).await.unwrap();
        let findings = check(&history, &Promise::ALL);
        let found = findings.iter().find(|finding| is_wanted(finding));
        let is_found = found.is_some();
        if let Some(finding) = found {
            println!("{fault:?}, seed {seed}: {finding}");
        }
        all.extend(findings);
        if is_found {
            break;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn right_store_is_not_accused() {
    assert_eq!(findings(Fault::None, |_| true).await, []);
}

macro_rules! found {
    ($($name:ident: $fault:ident => $finding:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let is_named = |finding: &Finding| matches!(finding, Finding::$finding { .. });
            let findings = findings(Fault::$fault, is_named).await;
            assert!(findings.iter().any(is_named), "{findings:?}");
        }
    )*};
}

found! {
    late_head_misreads: LateHead => Misread,
    condition_on_a_snapshot_accepts: ConditionOnSnapshot => Accepted,
    acknowledged_before_the_commit_loses: AcknowledgedBeforeCommit => Lost,
    visible_out_of_order_lets_followers_skip: VisibleOutOfOrder => Skipped,
    written_twice: WrittenTwice => Twice,
    first_item_only_accepts: FirstItemOnly => Accepted,
    types_that_are_not_indexed_accept: TypesNotIndexed => Accepted,
    off_by_one_accepts: OffByOne => Accepted,
    one_by_one_tears: OneByOne => Torn,
    cut_short_tears: CutShort => Torn,
    refused_but_written: RefusedButWritten => Unasked,
    lagging_reads_are_stale: LaggingReads => Stale,
    refused_for_an_old_after: RefusedForOldAfter => Refused,
    ids_that_are_not_unique: IdsNotUnique => Twice,
    repeat_at_the_head: RepeatAtHead => Lost,
    repeated_page_goes_back: PageRepeated => WentBack,
    backwards_tears: Backwards => Torn,
    lost_tag: LostTag => Unasked,
    gaps: Gaps => Gap,
}
