//! The cases of a suite, and the tests that run them.

use std::pin::Pin;

/// One rule, as a test of a subject such as a store.
pub struct Case<T> {
    /// Topic and name, as in `append::empty_log_has_no_head`.
    pub name: &'static str,
    run: fn(T) -> Run,
}

/// A case that has begun.
pub type Run = Pin<Box<dyn Future<Output = ()>>>;

impl<T> Case<T> {
    /// A case. Normally [`cases!`](crate::cases) calls this.
    pub fn new(name: &'static str, run: fn(T) -> Run) -> Self {
        Self { name, run }
    }

    /// Tests the rule on a new subject.
    ///
    /// # Panics
    /// If the subject breaks the rule.
    pub async fn run(&self, subject: T) {
        (self.run)(subject).await;
    }
}

/// Runs the case of this name in a new runtime, on a subject that `factory` makes there.
///
/// # Panics
/// If the subject breaks the rule, or if no case has this name.
pub fn run<T>(cases: Vec<Case<T>>, name: &str, factory: impl AsyncFnOnce() -> T) {
    let case = cases.into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    // A runtime per case: dropping it ends tasks that a failed case leaves behind.
    runtime().block_on(async { case.run(factory().await).await });
}

/// A runtime for one case.
///
/// # Panics
/// If none can be started.
pub fn runtime() -> tokio::runtime::Runtime {
    // The races need several threads, even on a machine with one core.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a tokio runtime can be started")
}

/// The values of the listed cases: `topic { case .. } ..`, where `topic::case` is an async function that takes
/// a reference to the subject.
#[macro_export]
macro_rules! cases {
    (() $($topic:ident { $($case:ident)* })*) => {
        vec![$($($crate::Case::new(
            concat!(stringify!($topic), "::", stringify!($case)),
            |subject| Box::pin(async move { $topic::$case(&subject).await }),
        )),*),*]
    };
}

/// One test function for each listed case. It calls the function of this name with the name of the case. That
/// function opens the store, so that a suite compiles this code once and not for each case.
#[macro_export]
macro_rules! tests {
    (($run:ident) $($topic:ident { $($case:ident)* })*) => {
        $(
            mod $topic {
                #[allow(unused_imports)]
                use super::*;

                $(
                    #[test]
                    fn $case() {
                        $run(concat!(stringify!($topic), "::", stringify!($case)));
                    }
                )*
            }
        )*
    };
}

/// Asserts that a call returns an error that matches the pattern.
#[macro_export]
macro_rules! assert_refused {
    ($call:expr, $pattern:pat $(if $guard:expr)?) => {{
        let answer = $call;
        assert!(matches!(&answer, Err($pattern) $(if $guard)?), "answered {answer:?}");
    }};
}
