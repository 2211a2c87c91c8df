use super::number::significant;
use crate::error::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The length of the longest bar.
const LENGTH: i32 = 500;
const TOP: i32 = 64;
const BAR: i32 = 14;
const GAP: i32 = 10;
const MARGIN: i32 = 16;
/// Room for the value to the right of the longest bar.
const VALUE: i32 = 90;
/// The width of a character in a label. Wider than in most fonts, so that labels never overlap
/// bars.
const CHARACTER: i32 = 7;

/// Colours that also differ in lightness. The white background keeps them legible on dark pages.
const SERIES: [RGBColor; 3] = [
    RGBColor(31, 97, 141),
    RGBColor(230, 145, 56),
    RGBColor(88, 88, 88),
];
const INK: RGBColor = RGBColor(34, 34, 34);

/// A chart of horizontal bars, with one group per row.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Its file name without extension.
    pub name: String,
    /// Its heading, with the unit.
    pub title: String,
    /// The names of the bars in a group; at most three.
    pub series: Vec<String>,
    /// The groups from top to bottom.
    pub bars: Vec<Bar>,
}

/// A group of bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its label.
    pub label: String,
    /// One value per series.
    pub values: Vec<f64>,
}

impl Chart {
    /// Draws it as SVG on a white background.
    ///
    /// # Errors
    /// [`Error::Chart`] if the drawing library fails.
    pub fn svg(&self) -> Result<String, Error> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (self.width() as u32, self.height() as u32))
            .into_drawing_area();
        let drawn = self.draw(&area).and_then(|()| area.present());
        drop(area);
        drawn.map_err(|error| Error::Chart {
            name: self.name.clone(),
            reason: error.to_string(),
        })?;
        Ok(svg)
    }

    /// The left end of the bars, to the right of the longest label.
    fn left(&self) -> i32 {
        let labels = self.bars.iter().map(|bar| bar.label.chars().count());
        MARGIN + labels.max().unwrap_or(0) as i32 * CHARACTER + GAP
    }

    fn width(&self) -> i32 {
        self.left() + LENGTH + VALUE
    }

    fn height(&self) -> i32 {
        TOP + self.bars.len() as i32 * self.group_height() + MARGIN
    }

    fn group_height(&self) -> i32 {
        self.series.len() as i32 * BAR + GAP
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let title = ("sans-serif", 16)
            .into_font()
            .style(FontStyle::Bold)
            .color(&INK);
        area.draw(&Text::new(self.title.clone(), (MARGIN, MARGIN), title))?;
        self.draw_legend(area)?;
        let left = self.left();
        let scale = f64::from(LENGTH) / self.largest();
        for (index, bar) in self.bars.iter().enumerate() {
            let top = TOP + index as i32 * self.group_height();
            self.draw_group(area, bar, (left, top), scale)?;
        }
        Ok(())
    }

    fn draw_legend<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (mut x, y) = (MARGIN, 42);
        for (name, colour) in self.series.iter().zip(SERIES) {
            area.draw(&Rectangle::new([(x, y), (x + 10, y + 10)], colour.filled()))?;
            area.draw(&Text::new(name.clone(), (x + 15, y + 5), style(HPos::Left)))?;
            x += 40 + name.chars().count() as i32 * CHARACTER;
        }
        Ok(())
    }

    fn draw_group<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
        bar: &Bar,
        (left, top): (i32, i32),
        scale: f64,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let middle = top + self.series.len() as i32 * BAR / 2;
        area.draw(&Text::new(
            bar.label.clone(),
            (left - GAP, middle),
            style(HPos::Right),
        ))?;
        for (series, (value, colour)) in bar.values.iter().zip(SERIES).enumerate() {
            let y = top + series as i32 * BAR;
            let length = (value * scale).round() as i32;
            let text = significant(*value);
            area.draw(&Rectangle::new(
                [(left, y), (left + length, y + BAR - 2)],
                colour.filled(),
            ))?;
            area.draw(&Text::new(
                text,
                (left + length + 5, y + BAR / 2),
                style(HPos::Left),
            ))?;
        }
        Ok(())
    }

    /// The largest value. It is positive even if all bars are 0, because the scale divides by it.
    fn largest(&self) -> f64 {
        let values = self.bars.iter().flat_map(|bar| &bar.values);
        values.fold(f64::MIN_POSITIVE, |largest, value| largest.max(*value))
    }
}

fn style(horizontal: HPos) -> TextStyle<'static> {
    let font = ("sans-serif", 12).into_font().color(&INK);
    font.pos(Pos::new(horizontal, VPos::Center))
}
