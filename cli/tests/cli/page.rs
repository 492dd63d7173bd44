//! `aster run --report`: the page, as a browser shows it.

use crate::devtools::browser;
use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const JOB: &str = "[fill]\nrw=write\nbs=64k\nsize=60%\n\
    [mixed]\nstonewall\nrw=randrw\nbs=4k\nsize=60%\niodepth=16\n\
    number_ios=6000\n[flush]\nstonewall\nrw=randwrite\nbs=4k\nsize=1m\nnumber_ios=20\nfsync=5\n";

/// Has the browser open `page` of a folder without a network, and returns what it writes to standard output.
fn shown(place: &Place, program: &Path, page: &str, options: &[&str]) -> String {
    let address = format!("file://{}", place.path(page).canonicalize().unwrap().display());
    let profile = format!("--user-data-dir={}", place.path("browser").display());
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=20000",
        "--window-size=1400,4200",
    ];
    let output = Command::new(program).args(fixed).arg(profile).args(options).arg(address).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What stands in elements with a `data-figure`: the exact value, and the text that is shown.
fn figures(dom: &str) -> BTreeMap<String, (String, String)> {
    let attribute = |of: &str, name: &str| {
        let from = of.find(&format!("{name}=\"")).map(|at| at + name.len() + 2)?;
        Some(of[from..].split('"').next().unwrap().to_owned())
    };
    let elements = dom.split('<').filter(|element| element.contains("data-figure="));
    elements
        .map(|element| {
            let (tag, text) = element.split_once('>').unwrap();
            let of = |name| attribute(tag, name).unwrap();
            (of("data-figure"), (of("data-value"), text.to_owned()))
        })
        .collect()
}

/// A figure of the report by its path.
fn of_report<'a>(report: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(report, |value, part| match part.parse::<usize>() {
        Ok(at) if value.is_array() => &value[at],
        _ => &value[part],
    })
}

/// A number with its unit, as the page shows it, in the report's unit.
fn read(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "s" => 1e6,
        "ms" => 1e3,
        "ns" => 1e-3,
        "%" => 1e-2,
        _ => 1.0,
    };
    number.replace(',', "").parse::<f64>().unwrap_or_else(|_| panic!("{text}")) * factor
}

#[test]
fn a_browser_shows_the_figures_of_the_report_and_draws_them() {
    let place = Place::new();
    place.write("j.fio", JOB);
    let run = ["run", "tiny", "--job", "j.fio", "--seed", "3", "--json"];
    let report = place.report(&[&run[..], &["--report", "run.html"]].concat());
    let html = place.read("run.html");
    // The page changes nothing of the run, and needs nothing but itself.
    let plain = place.report(&run);
    for figure in ["total", "tasks", "waf", "firmware", "flash_programs", "erases"] {
        assert_eq!(report[figure], plain[figure], "{figure}");
    }
    let (data, rest) = {
        let from = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        let (data, rest) = html[from..].split_once("</script>").unwrap();
        (serde_json::from_str::<Value>(data).unwrap(), format!("{}{rest}", &html[..from]))
    };
    assert_eq!(data["report"]["total"], report["total"]);
    assert!(!rest.contains("https://cdn") && !rest.contains("<link") && !rest.contains("src=\"http"));
    gathered(&data["gathered"], &report);

    let Some(program) = browser() else {
        println!("no browser: what a page shows was not looked at");
        return;
    };
    let dom = shown(&place, &program, "run.html", &["--dump-dom"]);
    assert!(dom.contains("data-drawn=\"yes\""), "the script has come to its end");
    assert!(dom.contains("<p id=\"errors\"></p>"), "{}", &dom[dom.find("id=\"errors\"").unwrap()..][..300]);
    let figures = figures(&dom);
    let mut compared = 0;
    for (path, (exact, text)) in &figures {
        if path.starts_with("ways.") || path.starts_with("slowest.") || path == "failures" {
            continue;
        }
        let wanted = of_report(&report, path);
        let Some(wanted) = wanted.as_f64() else {
            assert_eq!((text.as_str(), wanted), ("–", &Value::Null), "{path}");
            continue;
        };
        assert_eq!(exact.parse::<f64>().unwrap(), wanted, "{path}");
        // Three digits are shown, or all of the whole number.
        let off = (read(text) - wanted).abs();
        assert!(off <= wanted.abs() * 6e-3 + 1e-9, "{path}: {text} is {wanted}");
        compared += 1;
    }
    assert!(compared > 40, "{compared}: {:?}", figures.keys());
    assert_eq!(figures["failures"].1, "0");
    let slowest = |rank: usize| figures[&format!("slowest.{rank}.total_us")].0.parse::<f64>().unwrap();
    assert!((1..10).all(|rank| slowest(rank) <= slowest(rank - 1)));
    // A plot for each chart, three maps, and the command that repeats it.
    assert!(dom.matches("class=\"uplot").count() >= 10, "{}", dom.matches("class=\"uplot").count());
    assert_eq!(dom.matches("class=\"map\"").count(), 3);
    assert!(dom.contains("aster run tiny --job j.fio --seed 3 --json --report run.html"));
    picture(&place, &program);
}

/// What was gathered beside the report agrees with it.
fn gathered(of: &Value, report: &Value) {
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let (from, until) = (numbers(&of["timeline"]["from_s"]), numbers(&of["timeline"]["until_s"]));
    assert!(from.len() > 100 && from[0] == 0.0);
    let simulated = report["simulated_s"].as_f64().unwrap();
    assert!((until.last().unwrap() / simulated - 1.0).abs() < 0.01, "{:?} {simulated}", until.last());
    // Rates over time add up to what the report has moved.
    let series = |name: &str| numbers(&of["timeline"]["series"][name]);
    let sum = |name: &str| -> f64 {
        let parts = series(name).into_iter().zip(from.iter().zip(&until));
        parts.map(|(rate, (from, until))| rate * (until - from)).sum()
    };
    let kinds = report["total"]["kinds"].as_array().unwrap();
    let bytes = |kind: &str| kinds.iter().find(|of| of["kind"] == kind).unwrap()["bytes"].as_f64().unwrap();
    let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.02;
    assert!(near(sum("read_bytes_per_second"), bytes("read")), "{}", sum("read_bytes_per_second"));
    assert!(near(sum("write_bytes_per_second"), bytes("write")), "{}", sum("write_bytes_per_second"));
    let programs = report["flash_programs"].as_f64().unwrap();
    assert!(
        near(sum("flash_programs_per_second"), programs),
        "{} {programs}",
        sum("flash_programs_per_second")
    );
    let victims = report["firmware"]["victims"].as_f64().unwrap();
    assert!((sum("victims_per_second") - victims).abs() < 0.5, "{} {victims}", sum("victims_per_second"));
    let counted = |kind: &str| -> u64 {
        let of = of["latencies"].as_array().unwrap().iter().find(|of| of["kind"] == kind).unwrap();
        of["counts"].as_array().unwrap().iter().map(|cell| cell[2].as_u64().unwrap()).sum()
    };
    let requests =
        |kind: &str| kinds.iter().find(|of| of["kind"] == kind).unwrap()["requests"].as_u64().unwrap();
    assert_eq!((counted("Read"), counted("Flush")), (requests("read"), requests("flush")));
    let blocks = &of["blocks"];
    let erases: f64 = blocks["erases"].as_array().unwrap().iter().flat_map(&numbers).sum();
    let (cells, least) =
        (blocks["erases"].as_array().unwrap().iter().flat_map(&numbers).count(), &report["erases"]);
    assert!(erases / cells as f64 >= least["min"].as_f64().unwrap() && cells > 0);
    assert!(erases >= report["flash_erases"].as_f64().unwrap());
    assert!(blocks["mapped"].as_array().unwrap().iter().flat_map(&numbers).sum::<f64>() > 0.0);
    assert_eq!(of["slowest"].as_array().unwrap().len(), 10);
}

/// The page is drawn: many colours in each of its parts.
fn picture(place: &Place, program: &Path) {
    let file = format!("--screenshot={}", place.path("page.png").display());
    shown(place, program, "run.html", &[&file]);
    let decoder =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(place.path("page.png")).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let of_pixel = info.color_type.samples();
    // The curves of the first and the second series, and the palette of the maps.
    let count = |wanted: [u8; 3]| {
        let is =
            |pixel: &&[u8]| pixel[..3].iter().zip(wanted).all(|(part, wanted)| part.abs_diff(wanted) < 6);
        pixels.chunks_exact(of_pixel).filter(is).count()
    };
    for colour in [[47, 120, 196], [209, 98, 43], [8, 81, 156]] {
        assert!(count(colour) > 300, "{colour:?}: {}", count(colour));
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_work() {
    let place = Place::new();
    place.write("j.fio", "[j]\nrw=write\nbs=4k\nnumber_ios=10\n");
    let run = |page: &'static str| ["run", "tiny", "--job", "j.fio", "--report", page];
    let error = place.refused(2, &run("nowhere/run.html"));
    assert!(error.contains("nowhere/run.html: its folder is not there"), "{error}");
    let error = place.refused(2, &run("j.fio"));
    assert!(error.contains("is read by this run and would be overwritten"), "{error}");
    let ran = place.aster(&run("/dev/full"));
    assert!(ran.code == 1 && ran.err.contains("/dev/full: No space left on device"), "{}", ran.err);
    assert!(
        ran.out.contains("workload") && ran.out.contains("0/0.0/1"),
        "the figures aren't lost: {}",
        ran.out
    );
}

#[test]
fn what_a_name_holds_is_text_on_the_page() {
    let place = Place::new();
    place.write("<b>.fio", "[</script><script>x]\nrw=read\nbs=4k\nnumber_ios=10\n");
    place.report(&["run", "tiny", "--job", "<b>.fio", "--report", "run.html", "--json"]);
    let html = place.read("run.html");
    assert!(html.contains("<title>&lt;b&gt;.fio on tiny</title>") && !html.contains("</script><script>x"));
}
