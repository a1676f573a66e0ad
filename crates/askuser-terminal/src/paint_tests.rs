//! Tests the painter with a terminal emulator. After any sequence of frames, the last frame is on the screen.

use super::*;
use crate::bench::Frames;
use crate::fixtures::{database, events};
use crate::view::{Background, ColorDepth, Theme};
use askuser::Prompt;
use askuser::prompt::PromptOptions;
use proptest::prelude::*;
use ratatui_core::buffer::{Buffer, Cell, CellWidth};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Span;
use std::num::NonZeroU16;
use std::time::Duration;

// ---- a terminal ----

const ROWS: u16 = 24;
const COLUMNS: u16 = 60;

struct Terminal {
    parser: vt100::Parser,
    /// The row in which the frame begins, and the largest number of its rows that were painted so far.
    top: u16,
    reached: u16,
}

impl Terminal {
    /// Creates a terminal with numbered lines on it and the cursor below them.
    fn with_lines_above(count: u16) -> Terminal {
        let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 100);
        (0..count).for_each(|i| parser.process(format!("line {i}\r\n").as_bytes()));
        Terminal { parser, top: count, reached: 0 }
    }

    fn take(&mut self, painter: &mut Painter) {
        self.parser.process(&painter.take());
    }

    fn paint(&mut self, painter: &mut Painter, frame: &Frame) {
        painter.paint(&frame.lines, frame.columns, frame.caret);
        self.take(painter);
        // A frame that extends below the screen scrolls all rows up.
        self.reached = self.reached.max(frame.lines.len() as u16);
        self.top = self.top.min(ROWS - self.reached);
    }

    fn row(&self, y: u16) -> String {
        self.parser.screen().rows(0, COLUMNS).nth(usize::from(y)).expect("a row on the screen")
    }

    fn assert_lines_above_are_untouched(&self, count: u16) {
        for y in 0..self.top {
            assert_eq!(self.row(y), format!("line {}", count - self.top + y), "row {y} above the frame");
        }
    }

    fn assert_blank_from(&self, row: u16) {
        for (y, x) in (row..ROWS).flat_map(|y| (0..COLUMNS).map(move |x| (y, x))) {
            self.assert_shows(&Cell::EMPTY, y, x);
        }
    }

    fn assert_shows(&self, cell: &Cell, y: u16, x: u16) {
        let seen = self.parser.screen().cell(y, x).expect("a cell on the screen");
        let symbol = if seen.has_contents() { seen.contents() } else { " " };
        let modifiers = [
            (seen.bold(), Modifier::BOLD),
            (seen.dim(), Modifier::DIM),
            (seen.italic(), Modifier::ITALIC),
            (seen.underline(), Modifier::UNDERLINED),
            (seen.inverse(), Modifier::REVERSED),
        ];
        let modifier: Modifier = modifiers.into_iter().filter(|(on, _)| *on).map(|(_, modifier)| modifier).collect();
        let mut shown = (symbol, seen.fgcolor(), seen.bgcolor(), modifier);
        let mut wanted = (cell.symbol(), colour(cell.fg), colour(cell.bg), cell.modifier);
        // The colour and the weight of a blank are invisible.
        let visible = Modifier::REVERSED | Modifier::UNDERLINED;
        if shown.0 == " " && wanted.0 == " " && !(shown.3 | wanted.3).intersects(visible) {
            (shown.1, shown.3, wanted.1, wanted.3) = (vt100::Color::Default, visible, vt100::Color::Default, visible);
        }
        assert_eq!(shown, wanted, "row {y}, column {x}");
    }

    /// Checks that the frame is on the screen with blank rows below, and the cursor at the caret or hidden.
    fn assert_shows_frame(&self, frame: &Frame) {
        let height = frame.lines.len() as u16;
        let area = Rect::new(0, 0, frame.columns, height);
        let mut buffer = Buffer::empty(area);
        for (line, y) in frame.lines.iter().zip(0..) {
            buffer.set_line(0, y, line, frame.columns);
        }
        for y in 0..height {
            let mut x = 0;
            while x < frame.columns {
                self.assert_shows(&buffer[(x, y)], self.top + y, x);
                x += columns(&buffer[(x, y)]);
            }
            for x in x..COLUMNS {
                self.assert_shows(&Cell::EMPTY, self.top + y, x);
            }
        }
        self.assert_blank_from(self.top + height);
        let screen = self.parser.screen();
        let (row, column) = screen.cursor_position();
        match frame.caret {
            Some(caret) => assert_eq!((row, column), (self.top + caret.y, caret.x), "the cursor"),
            None => {
                assert_eq!(column, 0, "the hidden cursor");
                assert!((self.top..=self.top + 2).contains(&row), "the hidden cursor");
            }
        }
        assert_eq!(screen.hide_cursor(), frame.caret.is_none());
        assert_eq!(screen.bgcolor(), vt100::Color::Default, "the pen at rest");
        assert!(!screen.dim() && !screen.italic() && !screen.underline() && !screen.inverse());
    }
}

fn columns(cell: &Cell) -> u16 {
    cell.cell_width().max(1)
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).expect("not zero")
}

fn colour(colour: Color) -> vt100::Color {
    match colour {
        Color::Reset => vt100::Color::Default,
        Color::Red => vt100::Color::Idx(1),
        Color::Gray => vt100::Color::Idx(7),
        Color::DarkGray => vt100::Color::Idx(8),
        Color::LightBlue => vt100::Color::Idx(12),
        Color::Indexed(i) => vt100::Color::Idx(i),
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        other => panic!("{other} is not among the colours of these tests"),
    }
}

// ---- frames ----

#[derive(Clone, Debug)]
struct Frame {
    lines: Vec<Line<'static>>,
    columns: u16,
    caret: Option<Position>,
}

fn frame(lines: &[&str]) -> Frame {
    let lines = lines.iter().map(|line| Line::raw((*line).to_owned())).collect();
    Frame { lines, columns: 40, caret: None }
}

fn any_style() -> impl Strategy<Value = Style> {
    let colours =
        vec![Color::Reset, Color::Gray, Color::DarkGray, Color::LightBlue, Color::Indexed(105), Color::Rgb(1, 2, 3)];
    let modifiers = vec![
        Modifier::empty(),
        Modifier::empty(),
        Modifier::BOLD,
        Modifier::DIM,
        Modifier::REVERSED,
        Modifier::BOLD | Modifier::UNDERLINED,
        Modifier::ITALIC,
    ];
    let background = prop_oneof![5 => Just(Color::Reset), 1 => Just(Color::Red), 1 => Just(Color::Indexed(17))];
    (prop::sample::select(colours), background, prop::sample::select(modifiers))
        .prop_map(|(fg, bg, modifier)| Style::new().fg(fg).bg(bg).add_modifier(modifier))
}

/// Generates blanks, narrow, wide, combined and disputed characters. The emulator and a buffer agree about their width.
fn any_span() -> impl Strategy<Value = Span<'static>> {
    let pieces =
        vec!["a", "bc", " ", "  ", "    ", "○", "│", "世", "界界", "👍", "e\u{301}", "語\u{3099}", "─", "word"];
    let text = prop::collection::vec(prop::sample::select(pieces), 1..4).prop_map(|pieces| pieces.concat());
    (text, any_style()).prop_map(|(text, style)| Span::styled(text, style))
}

fn any_line() -> impl Strategy<Value = Line<'static>> {
    prop::collection::vec(any_span(), 0..6).prop_map(Line::from)
}

/// Returns the possible positions of a caret, each before a whole character.
fn stops(line: &Line<'_>, columns_: u16) -> Vec<u16> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns_, 1));
    buffer.set_line(0, 0, line, columns_);
    let mut stops = vec![0];
    while let Some(x) = stops.last().map(|x| x + columns(&buffer[(*x, 0)])).filter(|x| *x < columns_) {
        stops.push(x);
    }
    stops
}

fn any_frame() -> impl Strategy<Value = Frame> {
    // The last line of a frame is never blank.
    let last = any_line().prop_map(|mut line| {
        line.spans.insert(0, Span::raw("~"));
        line
    });
    let caret = prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>()));
    (prop::collection::vec(any_line(), 0..9), last, 1u16..50, caret).prop_map(|(mut lines, last, columns, caret)| {
        lines.push(last);
        let caret = caret.map(|(x, y)| {
            let y = y.index(lines.len());
            Position::new(*x.get(&stops(&lines[y], columns)), y as u16)
        });
        Frame { lines, columns, caret }
    })
}

/// Returns the line with the same texts in other styles.
fn restyled(line: &Line<'static>, styles: &[Style]) -> Line<'static> {
    let spans = line.spans.iter().zip(styles.iter().cycle());
    Line::from_iter(spans.map(|(span, style)| Span::styled(span.content.clone(), *style)))
}

/// Generates a line without wide characters.
fn any_plain_line() -> impl Strategy<Value = Line<'static>> {
    let pieces = vec!["a", "bc", " ", "a  b", "x    y", "○", "│", "─", "word "];
    let span = (prop::sample::select(pieces), any_style()).prop_map(|(text, style)| Span::styled(text, style));
    prop::collection::vec(span, 1..6).prop_map(Line::from)
}

/// Generates frames that keep some lines of the previous frame, as the frames of a prompt do.
fn any_frames() -> impl Strategy<Value = Vec<Frame>> {
    let kept = prop::collection::vec(prop::bool::weighted(0.6), 9);
    prop::collection::vec((any_frame(), kept), 1..6).prop_map(|frames| {
        let mut made: Vec<Frame> = Vec::new();
        for (mut frame, kept) in frames {
            if let Some(before) = made.last().filter(|_| kept[0]) {
                frame.columns = before.columns;
                let last = frame.lines.len() - 1;
                for (y, line) in before.lines.iter().enumerate().take(last).filter(|(y, _)| kept[*y]) {
                    frame.lines[y] = line.clone();
                }
                // The text before the caret may have changed, so the caret moves to the first column.
                frame.caret = frame.caret.map(|caret| Position::new(0, caret.y));
            }
            made.push(frame);
        }
        made
    })
}

/// Paints one frame over another, and checks that the second is on the screen.
#[track_caller]
fn check_repainted(before: Vec<Line<'static>>, after: Vec<Line<'static>>, columns: u16) {
    let mut terminal = Terminal::with_lines_above(0);
    let mut painter = Painter::new(Charset::Utf8);
    for lines in [before, after] {
        let frame = Frame { lines, columns, caret: None };
        terminal.paint(&mut painter, &frame);
        terminal.assert_shows_frame(&frame);
    }
}

#[test]
fn a_change_right_behind_a_wide_character_does_not_take_half_of_it_away() {
    let lines = |first: &'static str, style: Style| {
        let wide = Span::styled("語\u{3099}", Style::new().fg(Color::Indexed(105)));
        vec![Line::raw(first), Line::from(vec![Span::raw("~"), wide, Span::styled("a", style)])]
    };
    // The cursor is in the column of the other half before the change.
    check_repainted(lines("", Style::new()), lines(" a", Style::new().fg(Color::Indexed(105))), 7);
}

#[test]
fn no_half_of_a_wide_character_stays() {
    let wide = ["世", "~世", "~世界", "世~界", "~界界"];
    let narrow = ["a", "~a", "~ab", "~世", "a世b", "~a界", "ab界", "~界"];
    for (before, after) in wide.iter().flat_map(|before| narrow.iter().map(move |after| (*before, *after))) {
        for columns in 2..8 {
            check_repainted(vec![Line::raw(before)], vec![Line::raw(after)], columns);
            check_repainted(vec![Line::raw(after)], vec![Line::raw(before)], columns);
        }
    }
}

#[test]
fn what_the_other_half_of_a_wide_character_covered_is_drawn_again() {
    // This terminal clears the other half by itself, but some terminals do not.
    for (before, after, bytes) in [("世~", "a ~", "a "), ("世界~", "a世 ~", "a世 "), ("~世|", "~a |", "a ")] {
        let mut painter = Painter::new(Charset::Utf8);
        painter.paint(&[Line::raw(before)], 40, None);
        painter.take();
        painter.paint(&[Line::raw(after)], 40, None);
        let written = String::from_utf8(painter.take()).expect("UTF-8");
        assert!(written.contains(bytes), "{before} to {after}: {written:?}");
    }
}

// ---- what holds for all frames ----

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_last_frame_is_what_is_seen(frames in any_frames(), above in 0..ROWS) {
        let mut terminal = Terminal::with_lines_above(above);
        let mut painter = Painter::new(Charset::Utf8);
        for frame in &frames {
            terminal.paint(&mut painter, frame);
            terminal.assert_shows_frame(frame);
            terminal.assert_lines_above_are_untouched(above);
        }
    }

    #[test]
    fn the_same_texts_in_other_styles_are_what_is_seen(
        lines in prop::collection::vec(any_plain_line(), 1..5),
        styles in prop::collection::vec(prop::collection::vec(any_style(), 1..6), 1..4),
        columns in 8u16..50,
        charset in prop::sample::select(vec![Charset::Utf8, Charset::Ascii]),
    ) {
        let mut terminal = Terminal::with_lines_above(2);
        let mut painter = Painter::new(charset);
        for styles in styles {
            let mut lines: Vec<_> = lines.iter().map(|line| restyled(line, &styles)).collect();
            lines.push(Line::raw("~"));
            terminal.paint(&mut painter, &Frame { lines: lines.clone(), columns, caret: None });
            if charset == Charset::Ascii {
                let in_ascii = |c: char| if c.is_ascii() { c } else { '?' };
                lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| {
                    span.content = span.content.chars().map(in_ascii).collect::<String>().into();
                });
            }
            terminal.assert_shows_frame(&Frame { lines, columns, caret: None });
        }
    }

    #[test]
    fn erasing_leaves_nothing(frames in any_frames(), above in 0..ROWS) {
        let mut terminal = Terminal::with_lines_above(above);
        let mut painter = Painter::new(Charset::Utf8);
        frames.iter().for_each(|frame| terminal.paint(&mut painter, frame));
        painter.erase();
        terminal.take(&mut painter);
        terminal.assert_blank_from(terminal.top);
        terminal.assert_lines_above_are_untouched(above);
        let screen = terminal.parser.screen();
        prop_assert_eq!(screen.cursor_position(), (terminal.top, 0));
        prop_assert!(!screen.hide_cursor());
        prop_assert_eq!((screen.fgcolor(), screen.bold()), (vt100::Color::Default, false));
    }

    #[test]
    fn a_frame_is_painted_anew_where_one_was_erased(frames in any_frames(), above in 0..ROWS, last in any_frame()) {
        let mut terminal = Terminal::with_lines_above(above);
        let mut painter = Painter::new(Charset::Utf8);
        frames.iter().for_each(|frame| terminal.paint(&mut painter, frame));
        painter.erase();
        terminal.paint(&mut painter, &last);
        terminal.assert_shows_frame(&last);
    }

    #[test]
    fn the_same_frame_again_costs_nothing(frames in any_frames()) {
        let mut painter = Painter::new(Charset::Utf8);
        for frame in &frames {
            painter.paint(&frame.lines, frame.columns, frame.caret);
            painter.take();
            painter.paint(&frame.lines, frame.columns, frame.caret);
            prop_assert_eq!(painter.take(), b"");
        }
    }

    #[test]
    fn leaving_keeps_the_frame_and_goes_below_it(frame in any_frame(), above in 0..ROWS) {
        let mut terminal = Terminal::with_lines_above(above);
        let mut painter = Painter::new(Charset::Utf8);
        terminal.paint(&mut painter, &frame);
        painter.leave();
        terminal.take(&mut painter);
        let height = frame.lines.len() as u16;
        let top = terminal.top.min(ROWS - height - 1);
        prop_assert_eq!(terminal.parser.screen().cursor_position(), (top + height, 0));
        prop_assert!(!terminal.parser.screen().hide_cursor());
        terminal.top = top;
        terminal.assert_lines_above_are_untouched(above);
        prop_assert!(terminal.row(top + height - 1).starts_with('~'));
    }

    #[test]
    fn a_narrower_terminal_that_keeps_its_lines_is_wiped_clean(
        before in any_frame(),
        after in any_frame(),
        above in 0..ROWS / 2,
        columns in 10u16..50,
    ) {
        let mut terminal = Terminal::with_lines_above(above);
        let mut painter = Painter::new(Charset::Utf8);
        terminal.paint(&mut painter, &before);
        terminal.parser.screen_mut().set_size(size(ROWS), size(columns));
        // An emulator that was narrower before the paint gives the same result as one that still is.
        painter.resized(columns, false, None);
        terminal.take(&mut painter);
        terminal.parser.screen_mut().set_size(size(ROWS), size(COLUMNS));
        terminal.paint(&mut painter, &after);
        terminal.assert_shows_frame(&after);
        terminal.assert_lines_above_are_untouched(above);
    }
}

// ---- what went wrong once ----

fn check_over(before: &[&str], after: &[&str]) {
    let mut terminal = Terminal::with_lines_above(3);
    let mut painter = Painter::new(Charset::Utf8);
    terminal.paint(&mut painter, &frame(before));
    terminal.paint(&mut painter, &frame(after));
    terminal.assert_shows_frame(&frame(after));
}

#[test]
fn clearing_the_rest_of_a_row_spares_a_wide_character_before_it() {
    check_over(&["用abc"], &["界"]);
    check_over(&["a用abc"], &["b界"]);
}

#[test]
fn a_wide_character_half_painted_over_leaves_nothing_behind() {
    check_over(&["世界x"], &["a世x"]);
    check_over(&["a世界"], &["世 界"]);
    check_over(&["世"], &["a"]);
}

#[test]
fn a_cluster_of_many_columns_leaves_nothing_behind() {
    // The text takes five columns in a terminal, regardless of its treatment of conjuncts.
    let conjunct = "क\u{94d}क\u{94d}क\u{94d}क\u{94d}क";
    let mut terminal = Terminal::with_lines_above(3);
    let mut painter = Painter::new(Charset::Utf8);
    terminal.paint(&mut painter, &frame(&[conjunct, "x"]));
    terminal.paint(&mut painter, &frame(&["a    b", "x"]));
    terminal.assert_shows_frame(&frame(&["a    b", "x"]));
}

#[test]
fn after_a_character_of_disputed_width_the_column_is_found_anew() {
    let mut terminal = Terminal::with_lines_above(0);
    let mut painter = Painter::new(Charset::Utf8);
    terminal.paint(&mut painter, &frame(&["👩\u{200d}👩\u{200d}👧|"]));
    // The emulator gives the family six columns, and the buffer two.
    assert_eq!(terminal.parser.screen().cell(0, 2).map(vt100::Cell::contents), Some("|"));
}

#[test]
fn a_caret_in_rewrapped_rows_is_found_again() {
    let mut painter = Painter::new(Charset::Utf8);
    let lines = ["x".repeat(35), "y".repeat(12), "z".repeat(30)].map(Line::raw);
    painter.paint(&lines, 40, Some(Position::new(25, 2)));
    painter.take();
    painter.resized(10, true, None);
    // Four rows and two rows stand above the caret's line, and two more rows of that line above the caret.
    assert_eq!(String::from_utf8_lossy(&painter.take()), "\x1b[8A\r \x1b[J\r\x1b[K");
}

/// A terminal that reports its cursor's position, and is resized at any moment.
struct Resizable {
    parser: vt100::Parser,
    painter: Painter,
}

/// A resize to this number of rows, and an optional second one during the painting. The second has a position in the
/// bytes and a number of rows.
type Resize = (u16, Option<(prop::sample::Index, u16)>);

impl Resizable {
    fn set_rows(&mut self, rows: u16) {
        self.parser.screen_mut().set_size(size(rows), size(COLUMNS));
    }

    fn cursor_row(&self) -> u16 {
        self.parser.screen().cursor_position().0
    }

    /// Paints as many rows as fit. The terminal may be resized meanwhile.
    fn paint(&mut self, rows: u16, caret: Option<u16>, meanwhile: Option<(prop::sample::Index, u16)>) {
        let lines: Vec<_> = (0..(rows - 1).min(18)).map(|y| Line::raw(format!("frame {y}"))).collect();
        let caret = caret.map(|y| Position::new(3, y.min(lines.len() as u16 - 1)));
        self.painter.paint(&lines, COLUMNS, caret);
        let bytes = self.painter.take();
        let asks: Vec<usize> =
            (0..bytes.len()).filter(|at| bytes[*at..].starts_with(crate::decode::replies::ASK_CURSOR)).collect();
        // A query and the following move arrive together, because they are a few bytes of one write.
        let together = |at: usize| asks.iter().any(|ask| (ask + 1..ask + 12).contains(&at));
        let places: Vec<usize> = (0..bytes.len()).filter(|at| !together(*at) && Some(at) <= asks.last()).collect();
        let resize = meanwhile.filter(|_| !places.is_empty()).map(|(at, rows)| (*at.get(&places), rows));
        let mut told = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            if let Some((place, rows)) = resize
                && at == place
            {
                self.set_rows(rows);
            }
            if asks.contains(&at) {
                told.push(self.cursor_row());
            }
            self.parser.process(&[*byte]);
        }
        assert_eq!(told.len(), self.painter.asked_rows());
        self.painter.set_rows(Some(&told));
    }

    fn resized(&mut self, rows: u16, caret: Option<u16>, meanwhile: Option<(prop::sample::Index, u16)>) {
        self.set_rows(rows);
        self.painter.resized(COLUMNS, false, Some(self.cursor_row()));
        self.paint(rows, caret, meanwhile);
    }

    /// Returns the text of the screen with the scrollback above it.
    fn text(&mut self) -> String {
        self.set_rows(300);
        let rows = self.parser.screen().rows(0, COLUMNS).map(|row| row.trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

proptest! {
    #[test]
    fn a_terminal_that_is_resized_at_any_moment_also_while_a_frame_is_painted_keeps_no_rows_of_an_old_frame(
        resizes in prop::collection::vec((2u16..40, prop::option::of((any::<prop::sample::Index>(), 2u16..40))), 1..8),
        caret in prop::option::of(0u16..18),
        above in 0usize..40,
    ) {
        let resizes: Vec<Resize> = resizes;
        let parser = vt100::Parser::new(size(24), size(COLUMNS), 1_000);
        let mut terminal = Resizable { parser, painter: Painter::new(Charset::Utf8) };
        let lines: Vec<String> = (0..above).map(|n| format!("line {n}")).collect();
        lines.iter().for_each(|line| terminal.parser.process(format!("{line}\r\n").as_bytes()));
        terminal.paint(24, caret, None);
        for (rows, meanwhile) in resizes {
            terminal.resized(rows, caret, meanwhile);
            // The second resize is also reported.
            if let Some((_, rows)) = meanwhile {
                terminal.resized(rows, caret, None);
            }
        }
        terminal.resized(60, caret, None);
        let expected = lines.into_iter().chain((0..18).map(|y| format!("frame {y}")));
        prop_assert_eq!(terminal.text(), expected.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn closing_lines_stay_and_leave_the_pen_plain() {
    let mut terminal = Terminal::with_lines_above(1);
    let mut painter = Painter::new(Charset::Utf8);
    terminal.paint(&mut painter, &frame(&["frame", "frame"]));
    painter.erase();
    let style = Style::new().fg(Color::LightBlue).add_modifier(Modifier::BOLD);
    painter.print(&[Line::from(vec![Span::styled("✔ ", style), Span::raw("Database: PostgreSQL")]), Line::raw("end")]);
    terminal.take(&mut painter);
    assert_eq!([1, 2, 3].map(|y| terminal.row(y)), ["✔ Database: PostgreSQL", "end", ""]);
    let screen = terminal.parser.screen();
    assert_eq!((screen.cursor_position(), screen.bold()), ((3, 0), false));
    assert_eq!(screen.cell(1, 0).map(vt100::Cell::bold), Some(true));
}

// ---- what it costs ----

/// Returns the number of bytes that the painter writes for each key of a script. The terminal has 80 columns and 24
/// rows.
fn costs(set: askuser::QuestionSet, script: &str, theme: Theme) -> Vec<usize> {
    let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
    let mut frames = Frames::new(theme);
    frames.paint(&prompt);
    let mut cost = |event| {
        prompt.update(event, Duration::ZERO);
        frames.paint(&prompt).len()
    };
    events(script).into_iter().map(&mut cost).collect()
}

/// In true colour, an RGB foreground and the RGB background of the focus alone take 41 bytes.
#[test]
fn an_arrow_key_costs_at_most_eighty_bytes_or_ninety() {
    for background in [Background::Dark, Background::Light, Background::Unknown] {
        for depth in [ColorDepth::TrueColor, ColorDepth::Ansi256, ColorDepth::None] {
            let theme = Theme { background, depth, ..Theme::default() };
            // The cursor moves among the options. On Other most keys have another meaning, and the footer changes.
            let costs = costs(database(), "<down><down><up><up><down><up>?<esc><down>", theme);
            let arrows = costs.iter().take(6).chain(costs.last());
            let most = if depth == ColorDepth::TrueColor { 90 } else { 80 };
            assert!(arrows.clone().all(|bytes| (1..=most).contains(bytes)), "{costs:?} {background:?} {depth:?}");
        }
    }
}

#[test]
fn a_key_that_changes_nothing_costs_nothing() {
    assert_eq!(costs(database(), "<up><home>x", Theme::default()), [0, 0, 0]);
}

#[test]
fn a_typed_character_costs_a_few_bytes() {
    let costs = costs(database(), "4abcdef", Theme::default());
    assert!(costs[2..].iter().all(|bytes| *bytes <= 40), "{costs:?}");
}
