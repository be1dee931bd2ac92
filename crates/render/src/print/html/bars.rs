//! Bars as a figure of tables: a row for each bar, its figure beside it as text. What is drawn says nothing
//! that the text does not, so the drawing alone is hidden from who cannot see it.

use super::markup::Markup;
use super::svg::percent;
use crate::page::bars::{Bar, Bars, Group};
use crate::page::chart::COLOURS;

const FILLS: [&str; COLOURS] = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"];

pub(super) fn figure(out: &mut Markup, bars: &Bars) {
    out.element("figure", &[("class", "glance"), ("id", &bars.id)], |figure| {
        figure.element("figcaption", &[], |caption| {
            caption.leaf("h3", &[], &bars.title);
            caption.leaf("p", &[], &bars.about);
        });
        figure.element("div", &[("class", "groups")], |div| {
            bars.groups.iter().for_each(|one| group(div, one));
        });
    });
}

fn group(out: &mut Markup, group: &Group) {
    out.element("table", &[], |table| {
        if !group.name.is_empty() {
            table.leaf("caption", &[], &group.name);
        }
        table.element("tbody", &[], |body| {
            for bar in &group.bars {
                body.element("tr", &[], |row| {
                    row.leaf("th", &[("scope", "row")], &bar.name);
                    row.element("td", &[("class", "drawn")], |cell| drawn(cell, group, bar));
                    row.leaf("td", &[("class", "figure")], &bar.label);
                });
            }
        });
    });
}

fn drawn(out: &mut Markup, group: &Group, bar: &Bar) {
    out.element("svg", &[("class", "bar"), ("aria-hidden", "true")], |svg| {
        let width = percent(group.at(bar.value));
        let class = FILLS[bar.colour % COLOURS];
        svg.shape("rect", &[("class", class), ("width", &width), ("height", "100%")]);
        if let Some((low, high)) = bar.ends {
            let (low, high) = (percent(group.at(low)), percent(group.at(high)));
            let ends = [("x1", &*low), ("x2", &high), ("y1", "50%"), ("y2", "50%")];
            svg.shape("line", &ends);
        }
    });
}
