'use strict';
// Draws a run's report with uPlot. All data are in the element #data: the report of `aster run --json`, and
// what listeners have gathered beside it.
(() => {
  const $ = (id) => document.getElementById(id);
  window.addEventListener('error', (event) => {
    $('errors').textContent += `${event.message}\n`;
  });
  const { report, gathered } = JSON.parse($('data').textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colours = [
    '#2f78c4',
    '#d1622b',
    '#3f9c5a',
    '#8b5fbf',
    '#c2a01e',
    '#c0487e',
    '#2aa3a3',
    '#7a7f87',
  ];

  // Numbers and elements.
  const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
  const number = (value) => {
    if (value === null || value === undefined) return '–';
    const size = Math.abs(value);
    if (size >= 1000) return grouped.format(value);
    if (size >= 100 || Number.isInteger(value)) return String(+value.toFixed(1));
    return String(+value.toPrecision(3));
  };
  const percent = (share) =>
    share === null || share === undefined ? '–' : `${+(share * 100).toFixed(1)} %`;
  const bytes = (n) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (n >= 1024 && unit < units.length - 1) {
      n /= 1024;
      unit += 1;
    }
    return `${+n.toFixed(1)} ${units[unit]}`;
  };
  const micros = (us) => {
    if (us === null || us === undefined) return '–';
    if (us >= 1e6) return `${+(us / 1e6).toPrecision(4)} s`;
    if (us >= 1e3) return `${+(us / 1e3).toPrecision(4)} ms`;
    return us >= 1 ? `${+us.toPrecision(4)} µs` : `${+(us * 1e3).toPrecision(4)} ns`;
  };
  const element = (tag, properties = {}, children = []) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const figure = (made, path, value) => {
    made.dataset.figure = path;
    made.dataset.value = value ?? '';
    return made;
  };

  // A palette from pale to dark, for shares from 0 to 1.
  const stops = [
    [237, 242, 248],
    [158, 202, 225],
    [66, 146, 198],
    [8, 81, 156],
    [3, 30, 77],
  ];
  const shade = (share) => {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((from, n) => Math.round(from + (stops[low + 1][n] - from) * (at - low)));
  };
  const rgb = (parts) => `rgb(${parts.join(',')})`;
  const shades = [0, 0.25, 0.5, 0.75, 1].map((of) => rgb(shade(of)));
  const gradient = `linear-gradient(90deg, ${shades.join(', ')})`;

  const tip = (event, text) => {
    const box = $('tip');
    box.style.display = text ? 'block' : 'none';
    box.textContent = text;
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
    box.style.top = `${event.clientY + 14}px`;
  };

  // Head and figures.
  const all = report.total.all;
  const latency = all ? all.latency : null;
  const provenance = report.provenance;
  const about = [];
  if (provenance) {
    about.push(
      `profile ${provenance.profile ? provenance.profile.name : report.name}`,
      `seed ${provenance.seed}`,
    );
    const { version, commit } = provenance.aster;
    about.push(`aster ${version}${commit ? ` (${commit.slice(0, 12)})` : ''}`);
  }
  about.push(`${+report.simulated_s.toPrecision(6)} s simulated in ${+report.wall_s.toPrecision(3)} s`);
  if (report.interrupted) about.push('interrupted: figures cover the work until then');
  $('about').textContent = about.join(' · ');
  const tiles = [
    ['total.all.requests', all && all.requests, number, 'requests'],
    ['total.all.iops', all && all.iops, number, 'requests/s'],
    ['total.all.mb_per_s', all && all.mb_per_s, number, 'MB/s'],
    ['total.all.latency.mean_us', latency && latency.mean_us, micros, 'mean latency'],
    ['total.all.latency.p50_us', latency && latency.p50_us, micros, 'median'],
    ['total.all.latency.p99_us', latency && latency.p99_us, micros, '99th percentile'],
    ['total.all.latency.p999_us', latency && latency.p999_us, micros, '99.9th'],
    ['total.all.latency.max_us', latency && latency.max_us, micros, 'longest'],
    ['waf', report.waf, number, 'write amplification'],
    ['channel_utilisation', report.channel_utilisation, percent, 'channels busy'],
    ['flash_erases', report.flash_erases, number, 'blocks erased'],
    ['failures', report.tasks.reduce((sum, task) => sum + task.failures, 0), number, 'failures'],
  ];
  for (const [path, value, show, name] of tiles) {
    const shown = figure(element('b', { textContent: show(value) }), path, value);
    $('figures').append(
      element('div', { className: 'tile' }, [shown, element('span', { textContent: name })]),
    );
  }
  for (const warning of report.warnings)
    $('warnings').append(element('li', { textContent: warning.message }));

  // Tasks.
  const columns = [
    'task',
    'kind',
    'requests',
    'MB/s',
    'requests/s',
    'mean',
    'median',
    'p99',
    'p99.9',
    'longest',
  ];
  $('tasks').append(
    element(
      'tr',
      {},
      columns.map((name, at) => element('th', { textContent: name, className: at < 2 ? 'text' : '' })),
    ),
  );
  report.tasks.forEach((task, index) =>
    task.kinds.forEach((kind, at) => {
      const of = kind.latency;
      const cells = [
        ['requests', kind.requests, number],
        ['mb_per_s', kind.mb_per_s, number],
        ['iops', kind.iops, number],
        ...['mean_us', 'p50_us', 'p99_us', 'p999_us', 'max_us'].map((name) => [
          `latency.${name}`,
          of && of[name],
          micros,
        ]),
      ];
      const text = [at === 0 ? task.name : '', kind.kind].map((of) =>
        element('td', { textContent: of, className: 'text' }),
      );
      const numbers = cells.map(([name, value, show]) =>
        figure(element('td', { textContent: show(value) }), `tasks.${index}.kinds.${at}.${name}`, value),
      );
      $('tasks').append(element('tr', {}, [...text, ...numbers]));
    }),
  );

  // Plots over time share a cursor and a unit of time.
  const { from_s: from, until_s: until, series } = gathered.timeline;
  const end = until.length ? until[until.length - 1] : 0;
  const [unit, perSecond] = end >= 2 ? ['s', 1] : end >= 2e-3 ? ['ms', 1e3] : ['µs', 1e6];
  // Each sample holds until the next.
  const times = [...from, ...(until.length ? [end] : [])].map((at) => at * perSecond);
  const held = (values) => [...values, values.length ? values[values.length - 1] : null];
  const axis = (label, more = {}) => ({
    label,
    labelSize: 18,
    labelFont: '12px system-ui, sans-serif',
    font: '11px system-ui, sans-serif',
    stroke: css('--soft'),
    grid: { stroke: css('--line'), width: 1 },
    ticks: { stroke: css('--line'), width: 1 },
    ...more,
  });
  const sizes = (_, splits) => splits.map((of) => (of === null ? '' : number(of)));
  const plot = (id, options, data) => {
    const place = $(id);
    if (!data[0].length) {
      place.append(element('p', { className: 'note', textContent: 'Nothing was recorded.' }));
      return null;
    }
    const width = () => Math.max(place.clientWidth, 240);
    const made = new uPlot(
      { width: width(), height: 250, legend: { live: true }, ...options },
      data,
      place,
    );
    new ResizeObserver(() => made.setSize({ width: width(), height: options.height || 250 })).observe(
      place,
    );
    return made;
  };
  const line = (label, colour, more = {}) => ({
    label,
    stroke: colours[colour],
    width: 1.5,
    points: { show: false },
    paths: uPlot.paths.stepped({ align: 1 }),
    value: (_, value) => number(value),
    ...more,
  });
  const area = (colour) => ({ fill: `${colours[colour]}26` });
  const overTime = (id, label, lines, options = {}) =>
    plot(
      id,
      {
        cursor: { sync: { key: 'time' } },
        scales: { x: { time: false }, y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
        axes: [axis(`simulated time (${unit})`), axis(label, { size: 62, values: sizes })],
        series: [
          { label: unit, value: (_, at) => (at === null ? '–' : `${+at.toPrecision(5)} ${unit}`) },
          ...lines.map(([of]) => of),
        ],
        ...options,
      },
      [times, ...lines.map(([, values]) => held(values))],
    );
  const of = (name) => series[name] || from.map(() => null);
  const scaled = (name, factor) => of(name).map((value) => (value === null ? null : value * factor));

  overTime(
    'throughput',
    'MB/s',
    [
      [line('read MB/s', 0, area(0)), scaled('read_bytes_per_second', 1e-6)],
      [line('written MB/s', 1, area(1)), scaled('write_bytes_per_second', 1e-6)],
      [line('commands/s', 7, { scale: 'rate', width: 1 }), of('commands_per_second')],
    ],
    {
      scales: {
        x: { time: false },
        y: { range: (_, low, high) => [0, (high || 1) * 1.05] },
        rate: { range: (_, low, high) => [0, (high || 1) * 1.05] },
      },
      axes: [
        axis(`simulated time (${unit})`),
        axis('MB/s', { size: 62, values: sizes }),
        axis('commands/s', { side: 1, scale: 'rate', size: 70, grid: { show: false }, values: sizes }),
      ],
    },
  );
  overTime('waf', 'WAF', [[line('bytes programmed for each byte written', 3), of('waf')]]);
  overTime('gc', 'a second', [
    [line('units moved/s', 1, area(1)), of('moved_units_per_second')],
    [line('pages evicted/s', 0), of('evicted_pages_per_second')],
    [line('victims/s', 2), of('victims_per_second')],
  ]);
  overTime('depth', 'commands', [
    [line('most', 7, { width: 1 }), of('outstanding_commands_max')],
    [line('mean', 0, area(0)), of('outstanding_commands')],
  ]);
  overTime('flash', 'operations/s', [
    [line('reads/s', 0), of('flash_reads_per_second')],
    [line('programs/s', 1), of('flash_programs_per_second')],
    [line('erases/s', 2), of('flash_erases_per_second')],
  ]);

  // Cells of colour behind a plot.
  const cells = (draw) => ({
    hooks: {
      drawClear: [
        (u) => {
          const { ctx, bbox } = u;
          ctx.save();
          ctx.beginPath();
          ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
          ctx.clip();
          draw((x0, x1, y0, y1, share) => {
            const left = Math.round(u.valToPos(x0, 'x', true));
            const right = Math.round(u.valToPos(x1, 'x', true));
            const top = Math.round(u.valToPos(y1, 'y', true));
            const bottom = Math.round(u.valToPos(y0, 'y', true));
            ctx.fillStyle = rgb(shade(share));
            ctx.fillRect(left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
          });
          ctx.restore();
        },
      ],
    },
  });

  // Latencies of commands, a heat map for each kind.
  const ranked = ({ kind }) => ({ Read: 0, Write: 1 })[kind] ?? 2;
  for (const kind of [...gathered.latencies].sort((a, b) => ranked(a) - ranked(b))) {
    const id = `latency-${kind.kind.replace(/\W/g, '-')}`;
    $('latency').append(element('div', { id, className: 'plot' }));
    const us = (step) => 2 ** (step / kind.steps_per_octave) / 1e3;
    const width = kind.width_s * perSecond;
    const intervals = new Map();
    let most = 1;
    for (const [interval, step, count] of kind.counts) {
      if (!intervals.has(interval)) intervals.set(interval, []);
      intervals.get(interval).push([step, count]);
      most = Math.max(most, count);
    }
    const last = Math.max(...intervals.keys());
    // As far as the other plots over time.
    const xs = [...Array(last + 2).keys()].map((interval) => interval * width);
    if (xs[last + 1] < end * perSecond) xs.push(end * perSecond);
    const quantile = (share) =>
      xs.map((_, interval) => {
        const counts = intervals.get(interval > last + 1 ? -1 : Math.min(interval, last));
        if (!counts) return null;
        let left = counts.reduce((sum, [, count]) => sum + count, 0) * share;
        return us(counts.find(([, count]) => (left -= count) <= 1e-9)[0] + 1);
      });
    const steps = kind.counts.map(([, step]) => step);
    const [low, high] = [us(Math.min(...steps)), us(Math.max(...steps) + 1)];
    plot(
      id,
      {
        title: kind.kind,
        cursor: { sync: { key: 'time' } },
        scales: {
          x: { time: false },
          y: { distr: 3, range: [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))] },
        },
        axes: [
          axis(`simulated time (${unit})`),
          axis('latency', {
            size: 70,
            values: (_, splits) => splits.map((at) => (at === null ? '' : micros(at))),
          }),
        ],
        series: [
          { label: unit, value: (_, at) => (at === null ? '–' : `${+at.toPrecision(5)} ${unit}`) },
          line('median', 4, { value: (_, at) => micros(at) }),
          line('99th percentile', 1, { value: (_, at) => micros(at) }),
        ],
        ...cells((put) => {
          for (const [interval, step, count] of kind.counts) {
            const share = 0.12 + (0.88 * Math.log1p(count)) / Math.log1p(most);
            put(interval * width, (interval + 1) * width, us(step), us(step + 1), share);
          }
        }),
      },
      [xs, quantile(0.5), quantile(0.99)],
    );
  }

  // Requests' latencies as distributions.
  const kinds = report.total.kinds.filter((kind) => kind.latency);
  if (kinds.length) {
    const points = kinds.map((kind) => {
      let sum = 0;
      return kind.latency.buckets.map(([, to, count]) => [
        Math.min(Math.max(to / 1e3, kind.latency.min_us), kind.latency.max_us),
        (sum += count),
      ]);
    });
    const xs = [...new Set(points.flat().map(([at]) => at))].filter((at) => at > 0).sort((a, b) => a - b);
    const shares = points.map((of, n) => {
      let [next, sum] = [0, 0];
      return xs.map((x) => {
        while (next < of.length && of[next][0] <= x) {
          [, sum] = of[next];
          next += 1;
        }
        return sum / kinds[n].latency.buckets.reduce((all, [, , count]) => all + count, 0);
      });
    });
    const latencies = axis('latency', {
      values: (_, splits) => splits.map((at) => (at === null ? '' : micros(at))),
    });
    const x = { label: 'latency', value: (_, at) => micros(at) };
    const exact = (_, share) => (share === null ? '–' : `${+(share * 100).toPrecision(5)} %`);
    const lines = () => kinds.map((kind, n) => line(kind.kind, n, { value: exact }));
    const wide = { x: { time: false, distr: 3 } };
    plot(
      'cdf',
      {
        scales: { ...wide, y: { range: [0, 1.02] } },
        axes: [
          latencies,
          axis('took no longer', { size: 56, values: (_, splits) => splits.map(percent) }),
        ],
        series: [x, ...lines()],
      },
      [xs, ...shares],
    );
    const beyond = shares.map((of) => of.map((share) => (share < 1 ? 1 - share : null)));
    const rarest = Math.min(...beyond.flat().filter((share) => share !== null && share > 1e-12), 0.1);
    plot(
      'tail',
      {
        scales: { ...wide, y: { distr: 3, range: [rarest / 1.5, 1.3] } },
        axes: [
          latencies,
          axis('took longer', {
            size: 66,
            values: (_, splits) =>
              splits.map((of) => (of === null ? '' : `${+(of * 100).toPrecision(1)} %`)),
          }),
        ],
        series: [x, ...lines()],
      },
      [xs, ...beyond],
    );
  }

  // Channels over time, and ways.
  const channels = Object.keys(series)
    .filter((name) => /^channel_\d+_utilisation$/.test(name))
    .sort((a, b) => parseInt(a.slice(8), 10) - parseInt(b.slice(8), 10));
  plot(
    'channels',
    {
      cursor: { sync: { key: 'time' } },
      legend: { show: false },
      scales: { x: { time: false }, y: { range: [-0.5, channels.length - 0.5] } },
      axes: [
        axis(`simulated time (${unit})`),
        axis('channel', { incrs: [1, 2, 4, 8, 16], grid: { show: false } }),
      ],
      series: [{}, { points: { show: false } }],
      ...cells((put) =>
        channels.forEach((name, channel) =>
          series[name].forEach((share, at) => {
            if (share !== null) put(times[at], times[at + 1], channel - 0.46, channel + 0.46, share);
          }),
        ),
      ),
    },
    [times, times.map(() => null)],
  );
  const ways = element('table', {}, [
    element('tr', {}, [
      element('th', { textContent: '' }),
      ...(gathered.ways[0] || []).map((_, way) => element('th', { textContent: `way ${way}` })),
    ]),
  ]);
  gathered.ways.forEach((of, channel) =>
    ways.append(
      element('tr', {}, [
        element('td', { textContent: `channel ${channel}` }),
        ...of.map((share, way) => {
          const cell = figure(
            element('td', { className: 'way', textContent: percent(share) }),
            `ways.${channel}.${way}`,
            share,
          );
          cell.style.background = rgb(shade(share));
          cell.style.color = share > 0.4 ? '#fff' : '#1c2330';
          return cell;
        }),
      ]),
    ),
  );
  $('ways').append(ways);

  // Blocks: a row for each LUN.
  const { blocks } = gathered;
  const together = blocks.blocks_per_cell;
  const cell = together === 1 ? 'each block' : `${together} neighbouring blocks`;
  $('blocks-note').textContent =
    `A row for each of ${blocks.luns.length} LUNs, a cell for ${cell}. Bad ones are red.`;
  const largest = (rows) => rows.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0);
  const map = (name, rows, show, top) => {
    if (!rows.length) return;
    const most = top || largest(rows);
    const [width, height] = [rows[0].length, rows.length];
    const canvas = element('canvas', { className: 'map', width, height });
    canvas.style.height = `${Math.max(Math.min(height * 5, 280), Math.min(height * 12, 72))}px`;
    const image = canvas.getContext('2d').createImageData(width, height);
    rows.forEach((row, y) =>
      row.forEach((value, x) => {
        const colour =
          blocks.bad[y][x] * 2 > blocks.blocks_per_cell ? [200, 60, 50] : shade(most ? value / most : 0);
        image.data.set([...colour, 255], (y * width + x) * 4);
      }),
    );
    canvas.getContext('2d').putImageData(image, 0, 0);
    canvas.addEventListener('mousemove', (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.min(Math.floor(((event.clientX - box.left) / box.width) * width), width - 1);
      const y = Math.min(Math.floor(((event.clientY - box.top) / box.height) * height), height - 1);
      const first = x * blocks.blocks_per_cell;
      const bad = blocks.bad[y][x] ? `, ${blocks.bad[y][x]} bad` : '';
      const block = `block ${first}${together > 1 ? ' …' : ''}`;
      tip(event, `${blocks.luns[y]}, ${block}: ${show(rows[y][x])}${bad}`);
    });
    canvas.addEventListener('mouseleave', (event) => tip(event, ''));
    const scale = element('span', { className: 'scale' });
    scale.style.background = gradient;
    const head = element('div', { className: 'maphead' }, [
      element('span', { textContent: name }),
      element('span', {}, ['0', scale, show(most)]),
    ]);
    $('blocks').append(element('div', { className: 'maprow' }, [head, canvas]));
  };
  map('P/E cycles', blocks.erases, number);
  map('Pages programmed', blocks.programmed, percent, 1);
  map('Mapped units: where the host’s data are', blocks.mapped, number);

  // The slowest commands' lives.
  gathered.slowest.forEach((command, rank) => {
    const where = command.length ? `, ${bytes(command.length)} at ${number(command.offset)}` : '';
    const status = command.status ? `, status ${command.status.toString(16)}h` : '';
    const name = `command ${number(command.command)}, ${command.name}${where}`;
    const began = `from ${micros(command.began_us)} on${status}`;
    const text = `${rank + 1}. ${micros(command.total_us)}: ${name}, ${began}`;
    const summary = element('summary', { textContent: text });
    figure(summary, `slowest.${rank}.total_us`, command.total_us);
    const made = element('details', { open: rank === 0 }, [summary]);
    const shares = element('div', { className: 'shares' });
    const keys = element('div', { className: 'keys' });
    command.shares
      .filter((share) => share.us > 0)
      .forEach((share, n) => {
        const part = element('div', { title: `${share.what}: ${micros(share.us)}` });
        part.style.cssText = `flex: ${share.us} 0 0; background: ${colours[n % colours.length]}`;
        shares.append(part);
        const swatch = element('i');
        swatch.style.background = colours[n % colours.length];
        if (share.percent >= 0.05)
          keys.append(
            element('span', {}, [
              swatch,
              `${share.what} ${micros(share.us)} (${share.percent.toFixed(1)} %)`,
            ]),
          );
      });
    const life = element('div', { className: 'life' });
    const total = command.total_us || 1;
    for (const step of command.steps) {
      const bar = element('div', { className: 'bar', title: `at ${micros(step.at_us)}` });
      const left = Math.min(Math.max(step.at_us / total, 0), 1) * 100;
      const width = Math.min((step.took_us / total) * 100, 100 - left);
      bar.style.cssText = `left: ${left}%; width: ${width}%; background: ${colours[step.depth % 4]}`;
      const what = element('div', { className: 'what', textContent: step.what, title: step.what });
      what.style.paddingLeft = `${step.depth * 12}px`;
      life.append(
        element('div', { className: 'step' }, [
          what,
          element('div', { className: 'track' }, [bar]),
          element('div', { className: 'took', textContent: micros(step.took_us) }),
        ]),
      );
    }
    made.append(shares, keys, life);
    if (command.left_out)
      made.append(
        element('p', {
          className: 'note',
          textContent: `${number(command.left_out)} shorter steps are left out.`,
        }),
      );
    $('slowest').append(made);
  });

  // How to repeat it.
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const print = (id, value) => {
    $(id).textContent = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  };
  if (provenance) {
    print('repeat', ['aster', ...provenance.arguments.map(quoted)].join(' '));
    print('profile', provenance.profile);
    const work = provenance.work || {};
    print('work', (work.job && work.job.text) || work);
  }
  print('report', { ...report, provenance: undefined });
  document.body.dataset.drawn = 'yes';
})();
