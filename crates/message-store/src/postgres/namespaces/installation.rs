//! Installing and checking the table and the schemas of namespaces.

use postgres_store::{Schema, require_utf8};

use super::table::{INTERFACE, SELECT, TABLE, namespace, schema_for, table_exists};
use super::{PostgresNamespaces, Shared};
use crate::postgres::config::Config;
use crate::postgres::error::error;
use crate::postgres::execute::execute;
use crate::postgres::{adoption, installation};
use crate::{Error, Fault, NamespaceName, Namespaces as _};

impl Shared {
    pub(super) async fn prepare(&self) -> Result<(), Error> {
        /// Serializes processes that prepare the same database.
        const LOCK: &str = "SELECT pg_advisory_xact_lock(1297306963, 0)";
        let (mut connection, watch) = self.config.administrator::<Error>().await?;
        let preparing = async {
            // First, because a Message DB may be refused, and then nothing is installed.
            let interface = schema_for(INTERFACE)?;
            if self.config.interface_namespace.is_some()
                && adoption::is_foreign(&mut connection, &interface).await?
            {
                installation::install(&self.config, &interface).await?;
            }
            let begun = watch.begin(&mut connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            require_utf8(&mut transaction).await?;
            execute(&mut transaction, LOCK.to_owned()).await?;
            if !table_exists(&mut transaction).await? {
                execute(&mut transaction, PostgresNamespaces::table_sql()).await?;
            }
            transaction.commit().await.map_err(|failed| error(&failed))
        };
        watch.over(preparing).await
    }

    /// The schemas of all namespaces, and of the interface's namespace if it is not created yet.
    async fn schemas(&self) -> Result<Vec<Schema>, Error> {
        let rows = self.rows(&format!("{SELECT} ORDER BY number")).await?;
        let found: Result<Vec<_>, _> = rows.iter().map(namespace).collect();
        let found = found?;
        let exists = |name: &NamespaceName| found.iter().any(|(_, found)| found.name == *name);
        let interface = self.config.interface_namespace.as_ref();
        let missing = interface.filter(|name| !exists(name));
        let missing = missing.map(|_| schema_for(INTERFACE)).transpose()?;
        let found = found.iter().map(|(schema, _)| schema.clone());
        Ok(found.chain(missing).collect())
    }
}

impl PostgresNamespaces {
    /// The SQL that creates the table of namespaces, for a person who reviews it or runs it. See
    /// [`schema_sql`](crate::postgres::schema_sql) for the schema of the interface.
    pub fn table_sql() -> String {
        format!("CREATE SCHEMA IF NOT EXISTS message_store_namespaces;\n{TABLE}")
    }

    /// Installs or upgrades what [`connect`](Self::connect) and [`open`](crate::Namespaces::open) need:
    /// the table, the schema of each namespace, and the schema `message_store` for a
    /// [`Config::interface_namespace`] that is not created yet.
    ///
    /// # Errors
    /// The errors of [`PostgresStore::connect`](crate::postgres::PostgresStore::connect).
    pub async fn install_schemas(config: Config) -> Result<(), Error> {
        let namespaces = Self::connect(config).await?;
        let schemas = namespaces.shared.schemas().await;
        for schema in schemas? {
            installation::install(&namespaces.shared.config, &schema).await?;
        }
        namespaces.close().await;
        Ok(())
    }

    /// Compares each schema that [`install_schemas`](Self::install_schemas) installs with a fresh
    /// installation, and changes nothing.
    ///
    /// # Errors
    /// The errors of [`check_schema`](crate::postgres::check_schema). Each difference names its
    /// schema.
    pub async fn check_schemas(config: Config) -> Result<(), Error> {
        let (mut connection, watch) = config.administrator::<Error>().await?;
        let looking = async {
            let interface = schema_for(INTERFACE)?;
            if config.interface_namespace.is_some()
                && adoption::is_foreign(&mut connection, &interface).await?
            {
                let schema = interface.name().to_owned();
                return Err(Error::ForeignSchema { schema });
            }
            table_exists(&mut connection).await
        };
        if !watch.over(looking).await? {
            let lacks = "table message_store_namespaces.namespace is missing".to_owned();
            return Err(Fault::schema_changed("message_store_namespaces", vec![lacks]).into());
        }
        let mut config = config;
        config.replica_url = None;
        let namespaces = Shared::new(config).await?;
        let mut differences = Vec::new();
        for schema in namespaces.schemas().await? {
            match installation::check(&mut connection, &watch, &schema).await {
                Err(Error::Fault(Fault::SchemaChanged {
                    differences: some, ..
                })) => differences.extend(
                    some.into_iter()
                        .map(|one| format!("schema {}: {one}", schema.name())),
                ),
                checked => checked?,
            }
        }
        namespaces.close().await;
        match differences.is_empty() {
            true => Ok(()),
            false => Err(Fault::schema_changed("message_store_namespaces", differences).into()),
        }
    }
}
