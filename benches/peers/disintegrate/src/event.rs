//! The protocol's events as an enum, which disintegrate asks for. The key of a tag is the name of an
//! identifier, whose value is the whole tag.

use disintegrate::{
    DomainIdSet, Event, Identifier, IdentifierValue, StreamFilter, StreamQuery, query,
};
use disintegrate_postgres::PgEventId;
use peer_protocol::{Failure, NewEvent, QueryItem, Recorded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Event, Serialize, Deserialize)]
pub(crate) enum Enrollment {
    StudentEnrolled {
        #[id]
        course: String,
        #[id]
        student: String,
        id: Option<Uuid>,
        data: String,
    },
    StudentImported {
        #[id]
        import: String,
        #[id]
        student: String,
        id: Option<Uuid>,
        data: String,
    },
    StudentRenamed {
        #[id]
        student: String,
        id: Option<Uuid>,
        data: String,
    },
}

const ENROLLED: &str = "StudentEnrolled";
const NOT_ENROLLED: &[&str] = &["StudentImported", "StudentRenamed"];
const NOT_IMPORTED: &[&str] = &["StudentEnrolled", "StudentRenamed"];

impl TryFrom<NewEvent> for Enrollment {
    type Error = Failure;

    fn try_from(event: NewEvent) -> Result<Self, Failure> {
        let data = String::from_utf8(event.data).map_err(Failure::other)?;
        let (id, mut tags) = (event.id, event.tags.into_iter());
        match (
            event.event_type.as_str(),
            tags.next(),
            tags.next(),
            tags.next(),
        ) {
            (ENROLLED, Some(course), Some(student), None) => Ok(Self::StudentEnrolled {
                course,
                student,
                id,
                data,
            }),
            ("StudentImported", Some(import), Some(student), None) => Ok(Self::StudentImported {
                import,
                student,
                id,
                data,
            }),
            ("StudentRenamed", Some(student), None, None) => {
                Ok(Self::StudentRenamed { student, id, data })
            }
            (other, ..) => Err(unsupported(other)),
        }
    }
}

impl Enrollment {
    pub(crate) fn recorded(self, position: u64) -> Recorded {
        let event_type = self.name().to_owned();
        let (tags, id, data) = match self {
            Self::StudentEnrolled {
                course,
                student,
                id,
                data,
            } => (vec![course, student], id, data),
            Self::StudentImported {
                import,
                student,
                id,
                data,
            } => (vec![import, student], id, data),
            Self::StudentRenamed { student, id, data } => (vec![student], id, data),
        };
        Recorded {
            position,
            id,
            event_type,
            tags,
            data: data.into_bytes(),
        }
    }
}

fn unsupported(what: &str) -> Failure {
    Failure::Other(format!("its enum of events has no {what}"))
}

/// The query of these items; without items, of all events.
pub(crate) fn query_of(items: &[QueryItem]) -> Result<StreamQuery<PgEventId, Enrollment>, Failure> {
    let mut queries = items
        .iter()
        .map(|item| filter(item).map(|filter| query(Some(filter))));
    let Some(first) = queries.next() else {
        return Ok(query::<_, _, Enrollment>(None));
    };
    queries.try_fold(first?, |query, other| Ok(query.union(&other?)))
}

fn filter(item: &QueryItem) -> Result<StreamFilter<PgEventId, Enrollment>, Failure> {
    let mut identifiers = std::collections::BTreeMap::new();
    for tag in &item.tags {
        let key = match tag.split_once(':') {
            Some(("course", _)) => "course",
            Some(("student", _)) => "student",
            Some(("import", _)) => "import",
            _ => return Err(unsupported(tag)),
        };
        let key = Identifier::new(key).map_err(Failure::other)?;
        identifiers.insert(key, IdentifierValue::String(tag.clone()));
    }
    // An identifier selects only among the events that have it. All others must be left out by their types.
    let has = |key: &str| item.tags.iter().any(|tag| tag.starts_with(key));
    let filter = StreamFilter::new(DomainIdSet::new(identifiers));
    match (item.types.as_slice(), has("course:"), has("import:")) {
        ([], false, false) => Ok(filter),
        ([], false, true) => Ok(filter.exclude_events(NOT_IMPORTED)),
        ([], true, false) => Ok(filter.exclude_events(NOT_ENROLLED)),
        ([name], _, false) if name == ENROLLED => Ok(filter.exclude_events(NOT_ENROLLED)),
        (others, ..) => Err(unsupported(&others.join(", "))),
    }
}
