use std::fs;
use std::path::Path;

use regex::Regex;
use syn::{Attribute, Expr, Item, ItemEnum, ItemStruct, Lit, Meta, Visibility};

use super::{ErrorType, Variant, one_line};
use crate::workspace;

/// The public error types below `crates`, sorted by file. An error type derives `Error` or implements
/// it by hand. Types in inline modules, such as those of tests, don't count.
///
/// # Panics
///
/// Panics if a source file can't be read or parsed.
pub fn public_types(crates: &Path) -> Vec<ErrorType> {
    let files = workspace::files(crates);
    let sources = files.iter().filter_map(|path| {
        let file = path.strip_prefix(crates).ok()?.to_str()?;
        let is_source = file.ends_with(".rs") && file.split('/').nth(1) == Some("src");
        is_source.then_some((file, path))
    });
    sources
        .flat_map(|(file, path)| {
            let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{file}: {e}"));
            types_in(file, &text)
        })
        .collect()
}

fn types_in(file: &str, text: &str) -> Vec<ErrorType> {
    let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"));
    let implemented: Vec<String> = parsed.items.iter().filter_map(implementor).collect();
    let found = parsed.items.iter().filter_map(|item| {
        let (attributes, name, variants) = match item {
            Item::Enum(item) if is_public(&item.vis) => {
                (&item.attrs, item.ident.to_string(), variants_of(item))
            }
            Item::Struct(item) if is_public(&item.vis) => {
                (&item.attrs, item.ident.to_string(), vec![itself(item)])
            }
            _ => return None,
        };
        let is_error = derives_error(attributes) || implemented.contains(&name);
        is_error.then(|| ErrorType {
            file: file.to_owned(),
            name,
            variants,
        })
    });
    found.collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The type's name if the item implements `Error`.
fn implementor(item: &Item) -> Option<String> {
    let Item::Impl(item) = item else {
        return None;
    };
    let (path, _) = item.trait_.as_ref()?;
    let syn::Type::Path(implementor) = &*item.self_ty else {
        return None;
    };
    let is_error = path.segments.last()?.ident == "Error";
    let name = implementor.path.segments.last()?.ident.to_string();
    is_error.then_some(name)
}

fn derives_error(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("derive") => {
            let derived = list.tokens.to_string().replace(' ', "");
            derived
                .split(',')
                .any(|name| name == "Error" || name.ends_with("::Error"))
        }
        _ => false,
    })
}

fn variants_of(item: &ItemEnum) -> Vec<Variant> {
    let variants = item.variants.iter();
    variants
        .map(|variant| Variant {
            name: variant.ident.to_string(),
            doc: doc(&variant.attrs),
        })
        .collect()
}

fn itself(item: &ItemStruct) -> Variant {
    Variant {
        name: item.ident.to_string(),
        doc: doc(&item.attrs),
    }
}

/// The doc comment as one line. Links become their texts.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(value) = &pair.value else {
            return None;
        };
        match &value.lit {
            Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value()),
            _ => None,
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let link = Regex::new(r"\[([^\]]+)\](?:\([^)]*\))?").expect("a pattern");
    one_line(&link.replace_all(&text, "$1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_and_implemented_errors_are_found() {
        let text = r#"
            /// Broken, see [`Db::repair`](crate::Db::repair). Call
            /// [`repair`].
            #[derive(Debug, thiserror::Error)]
            pub enum Broken {
                /// The first.
                First,
            }
            #[derive(Debug, Error)]
            pub struct Derived;
            /// By hand.
            pub struct ByHand;
            impl std::error::Error for ByHand {}
            #[derive(thiserror::Error)]
            pub(crate) enum Hidden {}
            pub struct NotAnError;
            mod tests {
                #[derive(thiserror::Error)]
                pub struct OfATest;
            }
        "#;
        let found = types_in("a/src/error.rs", text);
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["Broken", "Derived", "ByHand"]);
        assert_eq!(found[0].variants[0].doc, "The first.");
        assert_eq!(found[2].variants[0].doc, "By hand.");
    }
}
