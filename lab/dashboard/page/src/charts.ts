// Rates and latencies over the drive's time, made of differences between frames.

/** Points that are kept; of more, every second is left out. */
const pointsMax = 2000;

interface Point {
  at: number;
  read: number | null;
  write: number | null;
  iops: number | null;
  p50: number | null;
  p99: number | null;
  waf: number | null;
}

class Rates {
  points: Point[] = [];
  private last: Frame | null = null;
  private jumps = 0;

  /** Takes a frame. Differences over a jump, or back, mean nothing. */
  take(frame: Frame): void {
    const before = this.last;
    this.last = frame;
    const jumps = frame.position?.jumps ?? 0;
    const seconds = before ? (frame.at_us - before.at_us) / 1e6 : 0;
    if (seconds < 0 || jumps !== this.jumps) {
      this.points = this.points.filter((point) => point.at <= frame.at_us / 1e6);
      this.jumps = jumps;
      return;
    }
    if (!before || seconds === 0) return;
    const rate = (of: (totals: Totals) => number) =>
      (of(frame.totals) - of(before.totals)) / seconds;
    const written = frame.totals.written_bytes - before.totals.written_bytes;
    const programmed = frame.totals.programmed_bytes - before.totals.programmed_bytes;
    this.points.push({
      at: frame.at_us / 1e6,
      read: rate((totals) => totals.read_bytes) / 1e6,
      write: rate((totals) => totals.written_bytes) / 1e6,
      iops: rate((totals) => totals.reads + totals.writes),
      p50: frame.latency.p50_us,
      p99: frame.latency.p99_us,
      waf: written > 0 ? programmed / written : null,
    });
    if (this.points.length > pointsMax) this.points = this.points.filter((_, n) => n % 2 === 1);
  }

  column(name: keyof Point): (number | null)[] {
    return this.points.map((point) => point[name]);
  }

  get latest(): Point | undefined {
    return this.points[this.points.length - 1];
  }
}

interface Chart {
  plot: uPlot;
  columns: (keyof Point)[];
}

const colours = ['#2f78c4', '#d1622b', '#3f9c5a'];

function chart(id: string, unit: string, series: [keyof Point, string][]): Chart {
  const box = at(id);
  const options = {
    width: Math.max(box.clientWidth, 200),
    height: 170,
    scales: { x: { time: false } },
    axes: [
      { label: 'seconds of the drive', labelSize: 18 },
      { label: unit, labelSize: 18, size: 64 },
    ],
    series: [
      { label: 's' },
      ...series.map(([, label], n) => {
        return { label, stroke: colours[n], width: 1.5, points: { show: false } };
      }),
    ],
  };
  const columns: (keyof Point)[] = ['at', ...series.map(([name]) => name)];
  return { plot: new uPlot(options, columns.map(() => []), box), columns };
}

function makeCharts(): Chart[] {
  const charts = [
    chart('throughput', 'MB/s', [
      ['read', 'read'],
      ['write', 'written'],
    ]),
    chart('rate', 'commands/s', [['iops', 'reads and writes']]),
    chart('latency', 'µs', [
      ['p50', 'p50'],
      ['p99', 'p99'],
    ]),
    chart('amplification', 'WAF', [['waf', 'WAF']]),
  ];
  addEventListener('resize', () => {
    for (const { plot } of charts) {
      plot.setSize({ width: Math.max(at('throughput').clientWidth, 200), height: 170 });
    }
  });
  return charts;
}

function drawCharts(charts: Chart[], rates: Rates): void {
  for (const { plot, columns } of charts) plot.setData(columns.map((name) => rates.column(name)));
}
