//! Lets Lua's modules in C, such as LuaSocket, be loaded into the binary: it has LuaJIT in itself, and such a module
//! finds Lua's functions only among the symbols that the program exports. Nothing else is decided here.

fn main() {
    let has = |name: &str| std::env::var_os(name).is_some();
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if has("CARGO_FEATURE_SCRIPT") && os == "linux" {
        for names in ["lua_*", "luaL_*", "luaJIT_*"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}
