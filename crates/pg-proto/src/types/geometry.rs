//! The geometric types: `point`, `line`, `lseg`, `box`, `path`, `polygon`, `circle`. Not geometry; nothing is computed.
//! Rule: coordinates are the server's floats, bit by bit, and are printed as it prints them.

use std::fmt::{self, Write};

use bytes::BytesMut;

use super::DecodeError;
use super::float::write_f64;
use super::read::Reader;
use super::scalar::{Scalar, from_text, scalar};

/// `(x,y)`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

/// `{a,b,c}`: the points with `ax + by + c = 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Factor of `x`.
    pub a: f64,
    /// Factor of `y`.
    pub b: f64,
    /// What is added.
    pub c: f64,
}

/// `[(x1,y1),(x2,y2)]`: a line segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lseg(pub Point, pub Point);

/// `(x1,y1),(x2,y2)`: a box; the server puts the upper right corner first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Box(pub Point, pub Point);

/// `((x1,y1),…)` if closed, `[(x1,y1),…]` if open.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Whether the last point is joined with the first.
    pub closed: bool,
    /// The points in order.
    pub points: Vec<Point>,
}

/// `((x1,y1),…)`
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon(pub Vec<Point>);

/// `<(x,y),r>`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    /// The centre.
    pub center: Point,
    /// The radius.
    pub radius: f64,
}

/// Bytes of a point.
const POINT_BYTES: usize = 16;

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        write_f64(f, self.x)?;
        f.write_char(',')?;
        write_f64(f, self.y)?;
        f.write_char(')')
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        write_f64(f, self.a)?;
        f.write_char(',')?;
        write_f64(f, self.b)?;
        f.write_char(',')?;
        write_f64(f, self.c)?;
        f.write_char('}')
    }
}

impl fmt::Display for Lseg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{}]", self.0, self.1)
    }
}

impl fmt::Display for Box {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.0, self.1)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.closed { ('(', ')') } else { ('[', ']') };
        f.write_char(open)?;
        write_points(f, &self.points)?;
        f.write_char(close)
    }
}

impl fmt::Display for Polygon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        write_points(f, &self.0)?;
        f.write_char(')')
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{},", self.center)?;
        write_f64(f, self.radius)?;
        f.write_char('>')
    }
}

fn write_points(f: &mut fmt::Formatter<'_>, points: &[Point]) -> fmt::Result {
    for (index, point) in points.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma}{point}")?;
    }
    Ok(())
}

/// The numbers of a text, if it is they with `shape` around them, where `#` stands for a number.
fn numbers<const N: usize>(text: &str, shape: &str) -> Option<[f64; N]> {
    let mut numbers = [0.0; N];
    let mut places = numbers.iter_mut();
    let mut rest = text;
    for part in shape.chars() {
        if part != '#' {
            rest = rest.strip_prefix(part)?;
            continue;
        }
        let end = rest.find([',', ')', '}', '>']).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(end)?;
        *places.next()? = number.parse().ok()?;
        rest = after;
    }
    rest.is_empty().then_some(numbers)
}

fn parse_points(text: &str) -> Option<Vec<Point>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    inner
        .split("),(")
        .map(|pair| numbers(pair, "#,#").map(|[x, y]| Point { x, y }))
        .collect()
}

fn parse_path(text: &str) -> Option<Path> {
    let closed = text.starts_with('(');
    let (open, close) = if closed { ('(', ')') } else { ('[', ']') };
    let points = parse_points(text.strip_prefix(open)?.strip_suffix(close)?)?;
    Some(Path { closed, points })
}

fn parse_polygon(text: &str) -> Option<Polygon> {
    parse_points(text.strip_prefix('(')?.strip_suffix(')')?).map(Polygon)
}

fn pair([x1, y1, x2, y2]: [f64; 4]) -> (Point, Point) {
    (Point { x: x1, y: y1 }, Point { x: x2, y: y2 })
}

from_text! {
    Point "point" |text| numbers(text, "(#,#)").map(|[x, y]| Point { x, y });
    Line "line" |text| numbers(text, "{#,#,#}").map(|[a, b, c]| Line { a, b, c });
    Lseg "lseg" |text| numbers(text, "[(#,#),(#,#)]").map(pair).map(|(from, to)| Lseg(from, to));
    Box "box" |text| numbers(text, "(#,#),(#,#)").map(pair).map(|(upper, lower)| Box(upper, lower));
    Path "path" parse_path;
    Polygon "polygon" parse_polygon;
    Circle "circle" |text| numbers(text, "<(#,#),#>").map(|[x, y, radius]| Circle { center: Point { x, y }, radius });
}

impl Scalar for Vec<Point> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const WHAT: &str = "list of points";
        let count = reader.count(POINT_BYTES, WHAT)?;
        if count == 0 {
            return Err(DecodeError::Invalid { what: WHAT });
        }
        (0..count).map(|_| Point::read(reader)).collect()
    }

    fn write(&self, out: &mut BytesMut) {
        // More points than a value can hold cannot be sent; the server would refuse the count.
        i32::try_from(self.len()).unwrap_or(i32::MAX).write(out);
        self.iter().for_each(|point| point.write(out));
    }
}

scalar!(
    Point { x, y } => POINT,
    Line { a, b, c } => LINE,
    Lseg { 0, 1 } => LSEG,
    Box { 0, 1 } => BOX,
    Path { closed, points } => PATH,
    Polygon { 0 } => POLYGON,
    Circle { center, radius } => CIRCLE,
);
