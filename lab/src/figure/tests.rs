use super::*;
use std::io;

fn series(name: &str, source: Source, points: &[(f64, f64)]) -> Series {
    Series { name: name.into(), source, points: points.to_vec() }
}

fn panel(title: &str, y: &'static str, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), x: "ways", scale: Scale::Steps, y, series }
}

/// Two panels of one unit with other numbers, and one of another unit.
fn figure() -> Figure {
    let read = vec![
        series("read, fast", Source::Ours, &[(1.0, 10.0), (8.0, 100.0)]),
        series("read, fast", Source::Paper("Table I"), &[(1.0, 12.0), (8.0, 90.0)]),
    ];
    let panels = vec![
        panel("low", "MB/s", read),
        panel("high", "MB/s", vec![series("write", Source::Ours, &[(2.0, 1000.0)])]),
        panel("share", "%", vec![series("write", Source::Bound, &[(1.0, 0.8)])]),
    ];
    Figure { name: "fig", label: "label", columns: 2, panels }
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The elements of a picture that have this name.
fn elements<'a>(picture: &'a str, name: &str) -> Vec<&'a str> {
    let starts = |element: &&str| element.split([' ', '>']).next() == Some(name);
    picture.split('<').filter(starts).collect()
}

fn number(element: &str, name: &str) -> f64 {
    let at = element.split_once(&format!(" {name}=\"")).unwrap().1;
    at.split_once('"').unwrap().0.parse().unwrap()
}

/// The places of our points, without the legend's above them.
fn dots(picture: &str) -> Vec<(f64, f64)> {
    let places = elements(picture, "circle").into_iter().map(|dot| (number(dot, "cx"), number(dot, "cy")));
    places.filter(|place| place.1 > 120.0).collect()
}

#[test]
fn panels_of_one_unit_have_one_scale_and_the_same_size() {
    let picture = written(|out| figure().write_svg(out));
    let [ten, hundred, thousand] = dots(&picture)[..] else { panic!("{picture}") };
    let a_mb_per_s = (ten.1 - hundred.1) / 90.0;
    assert!(a_mb_per_s > 0.2, "{ten:?} {hundred:?}");
    assert!((hundred.1 - thousand.1 - 900.0 * a_mb_per_s).abs() < 900.0 / 90.0, "{hundred:?} {thousand:?}");
    // 1, 2 and 8 ways have places of their own in every panel: the second panel's only point is the middle
    // one.
    let middle = (ten.0 + hundred.0) / 2.0;
    assert!((thousand.0 - middle - 560.0).abs() <= 1.0, "{ten:?} {hundred:?} {thousand:?}");
    // The third has its own unit and scale, in the second row.
    for tick in ["\n0.8\n", "\n1000\n"] {
        assert!(picture.contains(tick), "{tick:?}: {picture}");
    }
}

#[test]
fn a_figure_is_as_large_as_its_panels_and_all_panels_are_alike() {
    let alone = |panels: usize| Figure::of("f", "l", vec![figure().panels.remove(1); panels]).pixels();
    let (one, two, four) = (alone(1), alone(2), alone(4));
    assert_eq!((two.0 - one.0, four.0, four.1 - two.1), (560, two.0, 400));
}

#[test]
fn every_series_is_drawn_and_the_paper_s_points_are_told_apart_from_ours() {
    let picture = written(|out| figure().write_svg(out));
    // Discs are ours: three points. In the legend stand the two names of which there is something of ours.
    assert_eq!(elements(&picture, "circle").len(), 3 + 2);
    // Boxes are the paper's two points and the legend's; the rest is ground.
    let boxes = elements(&picture, "rect").into_iter().filter(|rect| rect.contains("fill=\"none\"")).count();
    assert_eq!(boxes, 2 + 1, "{picture}");
    for said in ["read, fast", "write", "paper: Table I", "at most", "low", "high", "share", "MB/s", "ways"] {
        assert!(picture.contains(said), "{said}: {picture}");
    }
    // The paper's line has the colour of ours.
    let blue = |line: &&str| line.contains("stroke=\"#0072B2\"");
    assert!(
        elements(&picture, "polyline").into_iter().filter(blue).count() > 2,
        "a whole line of ours, its key, and the dashes of the paper's: {picture}"
    );
}

/// A PNG's size and its pixels.
fn decoded(bytes: &[u8]) -> ((u32, u32), Vec<u8>) {
    let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    ((info.width, info.height), pixels)
}

/// A line that turns sharply, solid and broken, has no corners beyond its points.
#[test]
fn a_line_stays_between_its_points_however_sharply_it_turns() {
    for source in [Source::Ours, Source::Theory] {
        let zigzag: Vec<_> = (0..900u16).map(|n| (f64::from(n), f64::from(n % 7 % 2) * 100.0)).collect();
        let panel =
            Panel { scale: Scale::Linear, ..panel("load", "%", vec![series("ways", source, &zigzag)]) };
        let figure = Figure::of("fig", "label", vec![panel]);
        let picture = written(|out| figure.write_svg(out));
        assert!(picture.contains("<svg stroke-linejoin=\"round\" "), "{}", &picture[..200]);
        let lines = elements(&picture, "polyline").into_iter().filter(|line| line.contains("#0072B2"));
        let points = lines.flat_map(|line| {
            let points = line.split_once(" points=\"").unwrap().1.split('"').next().unwrap();
            points.split_whitespace().map(|point| {
                let (x, y) = point.split_once(',').unwrap();
                (x.parse::<u32>().unwrap(), y.parse::<u32>().unwrap())
            })
        });
        let points: Vec<_> = points.filter(|(_, y)| *y > 120).collect();
        // Half a box at a point, or half a line.
        let around = if source == Source::Ours { 2 } else { 6 };
        let ends = |of: fn(&(u32, u32)) -> u32| {
            let (least, most) = (points.iter().map(of).min().unwrap(), points.iter().map(of).max().unwrap());
            least - around..=most + around
        };
        let (across, down) = (ends(|point| point.0), ends(|point| point.1));
        let mut bytes = Vec::new();
        figure.write_png(&mut bytes).unwrap();
        let ((width, _), pixels) = decoded(&bytes);
        let blue = (0u32..).zip(pixels.chunks(3)).filter(|(_, pixel)| **pixel == [0, 114, 178]);
        let places: Vec<_> = blue.map(|(at, _)| (at % width, at / width)).filter(|(_, y)| *y > 120).collect();
        assert!(places.len() > 10_000, "{}", places.len());
        let beyond = places.iter().filter(|(x, y)| !across.contains(x) || !down.contains(y));
        assert_eq!(beyond.count(), 0, "of {} in {across:?} and {down:?}", places.len());
    }
}

#[test]
fn a_png_has_the_size_of_its_figure_and_the_colours_of_its_series() {
    let mut bytes = Vec::new();
    figure().write_png(&mut bytes).unwrap();
    let (size, pixels) = decoded(&bytes);
    assert_eq!(size, figure().pixels());
    let count = |pixels: &[u8], colour: [u8; 3]| pixels.chunks(3).filter(|pixel| **pixel == colour).count();
    assert!(count(&pixels, [0, 114, 178]) > 500 && count(&pixels, [213, 94, 0]) > 50);
    assert!(count(&pixels, [31, 41, 51]) > 300, "the writing is there, from the font of the program");
    let mut bytes = Vec::new();
    timeline().write_png(&mut bytes).unwrap();
    let (size, pixels) = decoded(&bytes);
    assert_eq!(size, timeline().pixels());
    assert!(count(&pixels, [0, 114, 178]) > 1000);
}

fn timeline() -> Timeline {
    let span = |kind, from, until| Span { kind, from, until };
    let lane = |name: &str, spans| Lane { name: name.into(), note: format!("{name}'s note"), spans };
    Timeline {
        name: "time",
        label: "what was when",
        x: "µs",
        kinds: vec!["read", "check"],
        lanes: vec![
            lane("one", vec![span(0, 0.0, 10.0), span(1, 50.0, 50.001)]),
            lane("two", vec![span(0, 20.0, 100.0)]),
        ],
    }
}

#[test]
fn every_span_of_a_timeline_is_drawn_where_it_was_however_short() {
    let picture = written(|out| timeline().write_svg(out));
    let spans = elements(&picture, "rect").into_iter().filter(|rect| {
        ["#0072B2", "#D55E00"].iter().any(|colour| rect.contains(&format!("fill=\"{colour}\"")))
            && number(rect, "y") > 100.0
    });
    let spans: Vec<_> = spans.map(|rect| (number(rect, "x"), number(rect, "width"))).collect();
    let [first, short, second] = spans[..] else { panic!("{picture}") };
    assert!((second.1 - 8.0 * first.1).abs() < 8.0 && short.1 >= 1.0, "{spans:?}");
    assert!((short.0 - first.0 - 5.0 * first.1).abs() < 5.0, "{spans:?}");
    for said in ["one", "two&apos;s note", "what was when", "check", "µs"] {
        assert!(
            picture.contains(said) || picture.contains(&said.replace("&apos;", "'")),
            "{said}: {picture}"
        );
    }
}

#[test]
fn the_table_has_every_point_that_is_drawn_and_whose_it_is() {
    assert_eq!(
        written(|out| figure().write_csv(out)),
        "panel,series,source,x,x_unit,y,y_unit\n\
         low,\"read, fast\",ours,1,ways,10,MB/s\n\
         low,\"read, fast\",ours,8,ways,100,MB/s\n\
         low,\"read, fast\",paper,1,ways,12,MB/s\n\
         low,\"read, fast\",paper,8,ways,90,MB/s\n\
         high,write,ours,2,ways,1000,MB/s\n\
         share,write,bound,1,ways,0.8,%\n"
    );
}

/// Two of our series with the same points: the second is drawn as rings and dashes, so that both are seen,
/// and so is its key.
#[test]
fn a_line_does_not_hide_another_that_it_coincides_with() {
    let circles = |second: f64| {
        let points = [(1.0, 10.0), (8.0, 100.0)];
        let above = [(1.0, 10.0), (8.0, second)];
        let both = vec![series("below", Source::Ours, &points), series("above", Source::Ours, &above)];
        let figure =
            Figure { name: "fig", label: "label", columns: 1, panels: vec![panel("one", "MB/s", both)] };
        let picture = written(|out| figure.write_svg(out));
        let is_ring = |dot: &&str| dot.contains("fill=\"none\"");
        let circles = elements(&picture, "circle");
        (circles.len(), circles.into_iter().filter(is_ring).count())
    };
    assert_eq!(circles(100.0), (6, 3), "two points and a key each");
    assert_eq!(circles(90.0), (6, 0));
}
