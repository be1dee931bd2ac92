//! How the binary is linked. Lua's modules in C, such as LuaSocket, can be loaded into it: it has LuaJIT in itself, and
//! such a module finds Lua's functions only among the symbols that the program exports. Equal functions are one in a
//! release. Nothing else is decided here.

fn main() {
    let has = |name: &str| std::env::var_os(name).is_some();
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if has("CARGO_FEATURE_SCRIPT") && os == "linux" {
        for names in ["lua_*", "luaL_*", "luaJIT_*"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
        }
    }
    // Rust links with lld here, unless another linker was named, and only here; others do not know the option.
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|one| one == value);
    let has_lld = is("TARGET", "x86_64-unknown-linux-gnu") && !has("RUSTC_LINKER");
    if is("PROFILE", "release") && has_lld {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
