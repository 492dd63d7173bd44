use super::*;
use std::io;

fn series(name: &str, source: Source, points: &[(f64, f64)]) -> Series {
    Series { name: name.into(), source, points: points.to_vec() }
}

/// Two panels of one unit with other numbers, and one of another unit.
fn figure() -> Figure {
    let panel = |title: &str, y, series| Panel { title: title.into(), x: "ways", y, series };
    Figure {
        name: "fig",
        label: "label",
        columns: 2,
        panels: vec![
            panel(
                "low",
                "MB/s",
                vec![
                    series("read, fast", Source::Ours, &[(1.0, 10.0), (8.0, 100.0)]),
                    series("read, fast", Source::Paper, &[(1.0, 12.0), (8.0, 90.0)]),
                ],
            ),
            panel("high", "MB/s", vec![series("write", Source::Ours, &[(2.0, 1000.0)])]),
            panel("share", "%", vec![series("write", Source::Bound, &[(1.0, 0.8)])]),
        ],
    }
}

fn written(write: impl FnOnce(&Figure, &mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&figure(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The places of circles, as the picture has them.
fn circles(picture: &str) -> Vec<(f64, f64)> {
    let number = |element: &str, name: &str| -> f64 {
        let at = element.split_once(&format!(" {name}=\"")).unwrap().1;
        at.split_once('"').unwrap().0.parse().unwrap()
    };
    let circles = picture.split('<').filter(|element| element.starts_with("circle"));
    circles.map(|element| (number(element, "cx"), number(element, "cy"))).collect()
}

#[test]
fn panels_of_one_unit_have_one_scale_and_the_same_size() {
    let picture = written(|figure, out| figure.write_svg(out));
    let dots = circles(&picture);
    // 10 and 100 of a panel in which 1000 is the top, all 220 high.
    let (ten, hundred, thousand) = (dots[0].1, dots[1].1, dots[4].1);
    assert!((ten - hundred - 90.0 * 0.22).abs() < 0.2, "{dots:?}");
    assert!((hundred - thousand - 900.0 * 0.22).abs() < 0.2, "{dots:?}");
    // 1, 2 and 8 ways have places of their own in every panel: the second panel's only point is the middle
    // one.
    let (panel, next) = (dots[0].0 - 64.0, dots[4].0 - 64.0 - 404.0);
    assert!((next - 3.0 * panel).abs() < 0.2, "{dots:?}");
    // The third has its own unit and scale, in the second row.
    assert!(dots[5].1 > 300.0 && picture.contains("\n0.8\n"), "{picture}");
}

#[test]
fn what_is_the_paper_s_is_dashed_in_the_colour_of_ours() {
    let picture = written(|figure, out| figure.write_svg(out));
    let tracks: Vec<_> = picture.split('<').filter(|element| element.starts_with("polyline")).collect();
    assert_eq!(tracks.len(), 4);
    assert!(!tracks[0].contains("dasharray") && tracks[1].contains("dasharray=\"7 4\""), "{tracks:?}");
    let colour = "stroke=\"#08519c\"";
    assert!(tracks[0].contains(colour) && tracks[1].contains(colour), "{tracks:?}");
    assert!(picture.contains("read, fast, paper") && picture.contains("write, at most"));
}

#[test]
fn a_single_point_of_the_paper_has_its_ring_in_the_legend_and_no_line_that_is_nowhere() {
    let ours = series("read", Source::Ours, &[(1.0, 10.0), (8.0, 100.0)]);
    let drawn = |points: &[(f64, f64)]| {
        let mut figure = figure();
        let both = vec![ours.clone(), series("read", Source::Paper, points)];
        figure.panels = vec![Panel { title: "one".into(), x: "ways", y: "MB/s", series: both }];
        let mut out = Vec::new();
        figure.write_svg(&mut out).unwrap();
        let picture = String::from_utf8(out).unwrap();
        let lines = picture.split('<').filter(|element| element.starts_with("line "));
        (circles(&picture).len(), lines.filter(|line| line.contains("dasharray")).count())
    };
    // Ours has two dots. The paper's line has a ring a point and a dashed key; its single point a second ring
    // as key.
    assert_eq!(drawn(&[(1.0, 12.0), (8.0, 90.0)]), (4, 1));
    assert_eq!(drawn(&[(8.0, 90.0)]), (4, 0));
}

#[test]
fn the_table_has_every_point_that_is_drawn_and_whose_it_is() {
    assert_eq!(
        written(|figure, out| figure.write_csv(out)),
        "panel,series,source,x,x_unit,y,y_unit\n\
         low,\"read, fast\",ours,1,ways,10,MB/s\n\
         low,\"read, fast\",ours,8,ways,100,MB/s\n\
         low,\"read, fast\",paper,1,ways,12,MB/s\n\
         low,\"read, fast\",paper,8,ways,90,MB/s\n\
         high,write,ours,2,ways,1000,MB/s\n\
         share,write,bound,1,ways,0.8,%\n"
    );
    let circles = circles(&written(|figure, out| figure.write_svg(out)));
    let points = written(|figure, out| figure.write_csv(out)).lines().count() - 1;
    assert_eq!(
        circles.len(),
        points + 1,
        "a circle a point, and the key of the bound that is a single point"
    );
}
