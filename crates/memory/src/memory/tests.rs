use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[test]
fn a_value_is_what_was_set_last() {
    let mut memory = Memory::new(3);
    assert_eq!(memory.value(0), None);
    memory.set(2, b"cc").unwrap();
    memory.set(0, b"a").unwrap();
    memory.set(1, b"").unwrap();
    assert_eq!([0, 1, 2].map(|n| memory.value(n)), [Some(&b"a"[..]), Some(b""), Some(b"cc")]);
    memory.set(0, b"longer").unwrap();
    memory.set(2, b"c").unwrap();
    assert_eq!([0, 1, 2].map(|n| memory.value(n)), [Some(&b"longer"[..]), Some(b""), Some(b"c")]);
    assert_eq!(memory.bytes(), 7);
    memory.clear();
    assert_eq!([0, 1, 2].map(|n| memory.value(n)), [None; 3]);
    assert_eq!(memory.bytes(), 0);
}

#[test]
fn a_variable_that_the_plan_does_not_have_has_no_value() {
    let mut memory = Memory::new(1);
    assert_eq!(memory.set(1, b""), Err(Why::Full));
    assert_eq!(memory.set(u32::MAX, b"a"), Err(Why::Full));
    assert_eq!(memory.value(1), None);
    assert_eq!(Memory::new(0).value(0), None);
}

#[test]
fn values_are_bounded_one_by_one_and_together() {
    let mut memory = Memory::new(6);
    let longest = vec![b'x'; MOST_VALUE_BYTES];
    let longer = vec![b'x'; MOST_VALUE_BYTES + 1];
    memory.set(0, b"old").unwrap();
    assert_eq!(memory.set(0, &longer), Err(Why::TooLong));
    assert_eq!(memory.value(0), Some(&b"old"[..]));
    for variable in 0..4 {
        memory.set(variable, &longest).unwrap();
    }
    assert_eq!(memory.bytes(), MOST_USER_BYTES);
    memory.set(4, b"").unwrap();
    assert_eq!(memory.set(5, b"x"), Err(Why::Full));
    assert_eq!(memory.value(5), None);
    // A value may always be replaced by a shorter one, or by one of its length.
    memory.set(3, &longest).unwrap();
    memory.set(3, &longest[1..]).unwrap();
    memory.set(5, b"x").unwrap();
    assert_eq!(memory.bytes(), MOST_USER_BYTES);
}

#[test]
fn several_values_are_set_together_or_not_at_all() {
    let mut memory = Memory::new(6);
    let longest = vec![b'x'; MOST_VALUE_BYTES];
    for variable in 0..4 {
        memory.set(variable, &longest).unwrap();
    }
    let short: &[u8] = b"short";
    // In the order of the list there is no room for the first before the second is replaced.
    memory.set_all(&[(5, short), (0, short)]).unwrap();
    assert_eq!(memory.value(5), Some(short));
    assert_eq!(memory.value(0), Some(short));
    let before = memory.bytes();
    assert_eq!(memory.set_all(&[(1, short), (0, &longest), (4, &longest)]), Err((2, Why::Full)));
    assert_eq!(memory.value(1), Some(&longest[..]));
    assert_eq!(memory.value(0), Some(short));
    assert_eq!(memory.bytes(), before);
}

/// Counted are the value itself, and the capacity of each buffer on the heap: text, ends, cookies' text,
/// cookies' entries. The allocator adds at most 16 bytes to each of the four.
#[test]
fn an_idle_user_takes_little() {
    let mut memory = Memory::new(2);
    let sites = Sites::new([("www.example.com", true)]);
    memory.set(0, &[b'a'; 32]).unwrap();
    memory.set(1, &[b'b'; 32]).unwrap();
    let fields = "Set-Cookie: session=0123456789abcdef0123456789abcdef; Path=/; Secure; HttpOnly\r\n\
                  Set-Cookie: theme=dark; Max-Age=3600; Path=/shop\r\n";
    let counts = memory.take_cookies((&sites, 0), b"/login", fields.as_bytes(), 0, false);
    assert_eq!(counts.stored, 2);
    let all = memory.held_bytes() + 4 * 16;
    assert!(all <= 1024, "{all} bytes");
    assert!(memory.held_bytes() >= size_of::<Memory>() + memory.bytes() + 8);
}

#[test]
fn the_next_user_allocates_nothing_and_pays_for_no_giant() {
    let mut memory = Memory::new(2);
    let sites = Sites::new([("a.example", false)]);
    let user = |memory: &mut Memory| {
        memory.set(1, &[b'a'; 100]).unwrap();
        memory.take_cookies((&sites, 0), b"/", b"Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n", 0, false);
    };
    user(&mut memory);
    let held = memory.held_bytes();
    memory.clear();
    assert_eq!(memory.held_bytes(), held, "the buffers stay");
    assert_eq!(memory.cookies(), 0);
    user(&mut memory);
    assert_eq!(memory.held_bytes(), held);

    memory.set(0, &vec![b'x'; MOST_VALUE_BYTES]).unwrap();
    let lines = format!("Set-Cookie: big={}\r\n", "x".repeat(4000)).repeat(3);
    memory.take_cookies((&sites, 0), b"/", lines.as_bytes(), 0, false);
    memory.clear();
    assert!(memory.held_bytes() < 12 << 10, "{}", memory.held_bytes());
}

#[test]
fn an_iteration_leaves_what_is_to_be_kept() {
    let mut memory = Memory::new(4);
    let sites = Sites::new([("a.example", false)]);
    let set = |memory: &mut Memory, lines: &str, lasting| {
        memory.take_cookies((&sites, 0), b"/", lines.as_bytes(), 0, lasting)
    };
    set(&mut memory, "Set-Cookie: id=1\r\nSet-Cookie: gone=1\r\n", true);
    for iteration in 0..3u8 {
        memory.set(0, &vec![b'a'; MOST_VALUE_BYTES]).unwrap();
        memory.set(1, &[b'b', iteration]).unwrap();
        memory.set(3, b"d").unwrap();
        set(
            &mut memory,
            "Set-Cookie: cart=7\r\nSet-Cookie: id=2\r\nSet-Cookie: gone=; Max-Age=0\r\n",
            false,
        );
        memory.keep(&[false, true, true, true]);
        let values = [0, 1, 2, 3].map(|variable| memory.value(variable).map(<[u8]>::to_vec));
        assert_eq!(values, [None, Some(vec![b'b', iteration]), None, Some(b"d".to_vec())]);
        let mut out = Vec::new();
        memory.write_cookies((&sites, 0), b"/", 0, &mut out);
        assert_eq!(out, b"id=2", "the latest value of one that lasts");
        assert!(memory.held_bytes() < 12 << 10, "{}", memory.held_bytes());
    }
    memory.set(2, b"c").unwrap();
    assert_eq!(memory.value(3), Some(&b"d"[..]));
}

#[test]
fn values_and_cookies_share_one_bound() {
    let mut memory = Memory::new(4);
    let sites = Sites::new([("a.example", false)]);
    for variable in 0..3 {
        memory.set(variable, &vec![b'x'; MOST_VALUE_BYTES]).unwrap();
    }
    let lines: String =
        (0..50).map(|n| format!("Set-Cookie: c{n:02}={}\r\n", "x".repeat(4000))).collect();
    let counts = memory.take_cookies((&sites, 0), b"/", lines.as_bytes(), 0, false);
    assert_eq!((counts.stored, counts.dropped), (50, 34), "16 of 4,005 bytes fit into 64 KiB");
    assert!(memory.bytes() <= MOST_USER_BYTES);
    assert_eq!(memory.set(3, &[b'x'; 4000]), Err(Why::Full));
    let mut out = Vec::new();
    assert!(memory.write_cookies((&sites, 0), b"/", 0, &mut out));
    assert!(out.starts_with(b"c34="), "the newest are kept");
}

proptest! {
    /// Against a map.
    #[test]
    fn any_sequence_of_sets_is_as_in_a_map(
        sets in prop::collection::vec((0u32..6, prop::collection::vec(any::<u8>(), 0..40)), 0..60)
    ) {
        let mut memory = Memory::new(5);
        let mut map = BTreeMap::new();
        for (variable, value) in sets {
            match memory.set(variable, &value) {
                Ok(()) => drop(map.insert(variable, value)),
                Err(why) => prop_assert!(why == Why::Full && variable == 5),
            }
            for variable in 0..6 {
                prop_assert_eq!(memory.value(variable), map.get(&variable).map(Vec::as_slice));
            }
            prop_assert_eq!(memory.bytes(), map.values().map(Vec::len).sum::<usize>());
        }
    }

    #[test]
    fn a_part_is_replaced(
        text in prop::collection::vec(any::<u8>(), 0..30),
        with in prop::collection::vec(any::<u8>(), 0..30),
        ends in (0usize..=30, 0usize..=30),
    ) {
        let (a, b) = (ends.0.min(text.len()), ends.1.min(text.len()));
        let place = a.min(b)..a.max(b);
        let mut expected = text.clone();
        expected.splice(place.clone(), with.iter().copied());
        let mut replaced = text;
        replace(&mut replaced, place, &with);
        prop_assert_eq!(replaced, expected);
    }
}
