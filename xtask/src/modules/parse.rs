//! The modules of a crate, read from its sources: what each declares, imports and names.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A crate as a tree of modules. The first module is the crate's root.
pub(super) struct Modules {
    pub(super) list: Vec<Module>,
    /// Paths of the files in the order in which they were reached.
    pub(super) files: Vec<String>,
}

/// One module. Several may share a file.
pub(super) struct Module {
    /// Index of the file in [`Modules::files`].
    pub(super) file: usize,
    /// Index of the parent; the root is its own.
    pub(super) parent: usize,
    /// Child modules by name; several where `cfg` selects one of them.
    pub(super) children: BTreeMap<String, Vec<usize>>,
    /// Items declared here, and the file of each: exported macros are declared in another one.
    pub(super) items: BTreeMap<String, usize>,
    pub(super) imports: Vec<Import>,
    /// Paths that the code names, outside of imports.
    pub(super) mentions: Vec<Vec<String>>,
}

/// One name that a `use` brings in.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// `None` for a glob.
    pub(super) name: Option<String>,
    /// True if it has a visibility (`pub`, `pub(crate)`, …).
    pub(super) is_public: bool,
}

/// Reads the crate whose root is `root`. `source` gives the text of a file, `None` if there is none.
///
/// Modules, functions and imports under `#[cfg(test)]` are left out.
///
/// # Errors
/// Says which file Rust's grammar does not allow.
pub(super) fn parse<'a>(
    root: &str,
    source: impl Fn(&str) -> Option<&'a str>,
) -> Result<Modules, String> {
    let mut parser = Parser {
        source,
        modules: Modules {
            list: Vec::new(),
            files: Vec::new(),
        },
    };
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    parser.file(0, root, folder)?;
    Ok(parser.modules)
}

struct Parser<S> {
    source: S,
    modules: Modules,
}

impl<'a, S: Fn(&str) -> Option<&'a str>> Parser<S> {
    /// Reads a file as a module whose child modules lie in `folder`.
    fn file(&mut self, parent: usize, path: &str, folder: &str) -> Result<usize, String> {
        let source = (self.source)(path).ok_or_else(|| format!("{path}: no such file"))?;
        let syntax = syn::parse_file(source).map_err(|error| {
            let at = error.span().start();
            format!("{path}:{}: {error}", at.line)
        })?;
        self.modules.files.push(path.to_owned());
        let file = self.modules.files.len() - 1;
        self.module(parent, file, folder, &syntax.items)
    }

    fn module(
        &mut self,
        parent: usize,
        file: usize,
        folder: &str,
        items: &[syn::Item],
    ) -> Result<usize, String> {
        let this = self.modules.list.len();
        self.modules.list.push(Module {
            file,
            parent,
            children: BTreeMap::new(),
            items: BTreeMap::new(),
            imports: Vec::new(),
            mentions: Vec::new(),
        });
        for item in items {
            if is_test_only(attributes(item)) {
                continue;
            }
            match item {
                syn::Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let child_folder = join(folder, &name);
                    let index = match &child.content {
                        Some((_, items)) => self.module(this, file, &child_folder, items)?,
                        None => {
                            let path = self.child_path(file, folder, child)?;
                            self.file(this, &path, &child_folder)?
                        }
                    };
                    let children = &mut self.modules.list[this].children;
                    children.entry(name).or_default().push(index);
                }
                item => self.declare(this, file, item),
            }
        }
        Ok(this)
    }

    /// Notes what an item declares and names.
    fn declare(&mut self, this: usize, file: usize, item: &syn::Item) {
        let mut names = Names::default();
        names.visit_item(item);
        let module = &mut self.modules.list[this];
        module.imports.append(&mut names.imports);
        module.mentions.append(&mut names.mentions);
        if let Some(name) = declared(item) {
            module.items.insert(name.clone(), file);
            if attributes(item)
                .iter()
                .any(|it| it.path().is_ident("macro_export"))
            {
                self.modules.list[0].items.insert(name, file);
            }
        }
    }

    /// Where `mod name;` lies.
    fn child_path(
        &self,
        file: usize,
        folder: &str,
        child: &syn::ItemMod,
    ) -> Result<String, String> {
        let parent = &self.modules.files[file];
        for attribute in &child.attrs {
            if let syn::Meta::NameValue(meta) = &attribute.meta
                && meta.path.is_ident("path")
                && let syn::Expr::Lit(value) = &meta.value
                && let syn::Lit::Str(value) = &value.lit
            {
                let folder = parent.rsplit_once('/').map_or("", |(folder, _)| folder);
                return Ok(join(folder, &value.value()));
            }
        }
        let name = child.ident.to_string();
        [
            join(folder, &format!("{name}.rs")),
            join(folder, &format!("{name}/mod.rs")),
        ]
        .into_iter()
        .find(|path| (self.source)(path).is_some())
        .ok_or_else(|| format!("{parent}: no file for `mod {name};`"))
    }
}

fn join(folder: &str, path: &str) -> String {
    match folder {
        "" => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

/// True for `#[cfg(test)]`, `#[cfg(all(test, …))]` and `#[test]`.
pub(crate) fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string().replace(' ', "");
        list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(it) => &it.attrs,
        syn::Item::Enum(it) => &it.attrs,
        syn::Item::Fn(it) => &it.attrs,
        syn::Item::ForeignMod(it) => &it.attrs,
        syn::Item::Impl(it) => &it.attrs,
        syn::Item::Macro(it) => &it.attrs,
        syn::Item::Mod(it) => &it.attrs,
        syn::Item::Static(it) => &it.attrs,
        syn::Item::Struct(it) => &it.attrs,
        syn::Item::Trait(it) => &it.attrs,
        syn::Item::Type(it) => &it.attrs,
        syn::Item::Union(it) => &it.attrs,
        syn::Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// The name under which other modules import an item.
fn declared(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(it) => &it.ident,
        syn::Item::Enum(it) => &it.ident,
        syn::Item::Fn(it) => &it.sig.ident,
        syn::Item::Macro(it) => it.ident.as_ref()?,
        syn::Item::Static(it) => &it.ident,
        syn::Item::Struct(it) => &it.ident,
        syn::Item::Trait(it) => &it.ident,
        syn::Item::Type(it) => &it.ident,
        syn::Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects the imports and paths of an item. Imports inside functions count as those of the module.
#[derive(Default)]
struct Names {
    imports: Vec<Import>,
    mentions: Vec<Vec<String>>,
}

impl Names {
    fn import(&mut self, tree: &syn::UseTree, before: &[String], is_public: bool) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            // `use a::{self}` imports `a`.
            if name != "self" || before.is_empty() {
                path.push(name.to_string());
            }
            path
        };
        let mut add = |path: Vec<String>, name: Option<String>| {
            self.imports.push(Import {
                path,
                name,
                is_public,
            });
        };
        match tree {
            syn::UseTree::Path(it) => self.import(&it.tree, &with(&it.ident), is_public),
            syn::UseTree::Name(it) => {
                let path = with(&it.ident);
                let name = path.last().cloned();
                add(path, name);
            }
            syn::UseTree::Rename(it) => add(with(&it.ident), Some(it.rename.to_string())),
            syn::UseTree::Glob(_) => add(before.to_vec(), None),
            syn::UseTree::Group(it) => {
                for tree in &it.items {
                    self.import(tree, before, is_public);
                }
            }
        }
    }

    /// Paths in the tokens of a macro, which has a grammar of its own.
    fn tokens(&mut self, tokens: &TokenStream) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let is_colon =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.tokens(&group.stream()),
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let (true, true, Some(TokenTree::Ident(next))) =
                        (is_colon(at), is_colon(at + 1), tokens.get(at + 2))
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 || starts_upper(&path) {
                        self.mentions.push(path);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            let is_public = !matches!(item.vis, syn::Visibility::Inherited);
            self.import(&item.tree, &[], is_public);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test_only(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            self.mentions.push(vec![name.to_string()]);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        // One lower-case name is a local variable; calls of functions are seen above.
        let is_local = path.path.get_ident().is_some_and(|name| {
            !name
                .to_string()
                .starts_with(|c: char| c.is_ascii_uppercase())
        });
        if !is_local {
            visit::visit_expr_path(self, path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            self.mentions.push(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        // `#[error("…", crate::LIMIT)]` needs what it names, too. Its own path is that of a macro.
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(&list.tokens);
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::a)` needs nothing of `a`.
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        visit::visit_path(self, &invocation.path);
        let names = invocation.path.segments.iter();
        let names: Vec<String> = names.map(|segment| segment.ident.to_string()).collect();
        self.mentions.push(names);
        self.tokens(&invocation.tokens);
    }
}

fn starts_upper(path: &[String]) -> bool {
    path.first()
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}
