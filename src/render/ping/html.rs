//! Renders a heat map as one HTML page without external files and without scripts.

use std::fmt::Write as _;

use super::heat::{HeatMap, STYLE, legend, xml};
use super::svg::title;
use super::{render_findings, render_origin};
use crate::model::ping::PingReport;

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2em;\
background:#ffffff;color:#1b1f24}pre{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;\
white-space:pre-wrap}.notice{color:#8a3b00;font-weight:600}svg{max-width:none}\
.scroll{overflow-x:auto}\
@media(prefers-color-scheme:dark){body{background:#14171c;color:#e6e9ee}.notice{color:#ffb37a}}";

/// Renders the heat map of a run as a page.
///
/// # Errors
/// The reason why there is no map: too many hosts, or no pairs.
pub fn render_html(report: &PingReport) -> Result<String, String> {
    let map = HeatMap::new(report)?;
    let title = xml(&title(report));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{PAGE_STYLE}{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    for text in render_origin(report).lines().chain(map.fold_note().as_deref()) {
        let _ = writeln!(page, "<p class=\"notice\">{}</p>", xml(text));
    }
    let _ = writeln!(page, "<pre>{}</pre>", xml(&render_findings(report)));
    let signs = legend(760);
    let _ = writeln!(
        page,
        "<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"meaning of colors and \
         marks\">{}</svg>",
        signs.width, signs.height, signs.body
    );
    for rail in 0..map.rails() {
        let heading = xml(&map.heading(rail));
        let drawing = map.draw(rail);
        let _ = writeln!(
            page,
            "<h2>{heading}</h2>\n<div class=\"scroll\"><svg width=\"{}\" height=\"{}\" role=\"img\" \
             aria-label=\"{heading}\">{}</svg></div>",
            drawing.width, drawing.height, drawing.body
        );
    }
    page.push_str("</body></html>\n");
    Ok(page)
}
