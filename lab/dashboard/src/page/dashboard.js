// Built by lab/dashboard/page/build.mjs; don't edit.
// Sources: 20bc29eaf255152ff6515cd0ae87bbdde3f774489a8e4d21c4c4c1484dd203ce
"use strict";
// What the server tells: the same as in frame.rs and messages.rs.
// Numbers and elements.
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
function at(id) {
    return document.getElementById(id);
}
function count(value) {
    if (value === null || value === undefined || !Number.isFinite(value))
        return '–';
    const size = Math.abs(value);
    if (size >= 1000)
        return grouped.format(value);
    return Number.isInteger(value) ? String(value) : String(+value.toPrecision(3));
}
function bytes(value) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit += 1;
    }
    return `${+value.toPrecision(4)} ${units[unit]}`;
}
function micros(us) {
    if (us === null || us === undefined)
        return '–';
    if (us >= 1e6)
        return `${+(us / 1e6).toPrecision(7)} s`;
    if (us >= 1e3)
        return `${+(us / 1e3).toPrecision(7)} ms`;
    if (us >= 1)
        return `${+us.toPrecision(7)} µs`;
    return `${+(us * 1e3).toPrecision(4)} ns`;
}
function element(tag, text = '', kind = '') {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind)
        made.className = kind;
    return made;
}
/** Shows a figure, with the exact value beside the text. */
function figure(into, name, value, text) {
    into.dataset.figure = name;
    into.dataset.value = value === null ? '' : String(value);
    into.textContent = text;
}
/** Has `into` as many children as asked for, and returns them. */
function children(into, wanted, make) {
    while (into.children.length < wanted)
        into.append(make());
    while (into.children.length > wanted)
        into.lastElementChild?.remove();
    return Array.from(into.children);
}
// Channels × ways with what each die does, queues, and the data buffer.
/** The die of a row and a column: LUN indices count channels first, then ways, then LUNs. */
function dieIndex(about, channel, column) {
    const way = Math.floor(column / about.luns);
    const lun = column % about.luns;
    return (lun * about.ways + way) * about.channels + channel;
}
function dieName(about, channel, column) {
    const name = `channel ${channel} way ${Math.floor(column / about.luns)}`;
    return about.luns > 1 ? `${name} LUN ${column % about.luns}` : name;
}
function layDies(about) {
    const grid = at('dies');
    grid.replaceChildren();
    const columns = about.ways * about.luns;
    grid.style.gridTemplateColumns = `auto repeat(${columns}, minmax(1.1rem, 3.4rem))`;
    for (let channel = 0; channel < about.channels; channel += 1) {
        const head = element('span', String(channel), 'channel');
        head.id = `channel-${channel}`;
        head.title = `channel ${channel}`;
        grid.append(head);
        for (let column = 0; column < columns; column += 1) {
            const cell = element('span', '', 'die');
            cell.id = `die-${dieIndex(about, channel, column)}`;
            grid.append(cell);
        }
    }
}
function drawDies(about, frame) {
    frame.channels.forEach((busy, channel) => {
        at(`channel-${channel}`).classList.toggle('busy', busy);
    });
    for (let channel = 0; channel < about.channels; channel += 1) {
        for (let column = 0; column < about.ways * about.luns; column += 1) {
            const index = dieIndex(about, channel, column);
            const die = frame.dies[index];
            if (!die)
                continue;
            const cell = at(`die-${index}`);
            const kind = `die ${die.work}${die.suspended ? ' suspended' : ''}`;
            if (cell.className !== kind)
                cell.className = kind;
            const waiting = die.waiting > 0 ? String(die.waiting) : '';
            if (cell.textContent !== waiting)
                cell.textContent = waiting;
            cell.title =
                `${dieName(about, channel, column)}: ${die.work}` +
                    `${die.suspended ? `, a suspended ${die.suspended}` : ''}\n` +
                    `${count(die.waiting)} waiting\n` +
                    `${count(die.reads)} reads, ${count(die.programs)} programs, ` +
                    `${count(die.erases)} erases`;
            cell.dataset.operations = `${die.reads}/${die.programs}/${die.erases}`;
        }
    }
}
function drawQueues(frame) {
    const rows = children(at('queues'), frame.queues.length, () => {
        const row = element('tr');
        row.append(element('td'), element('td'), element('td'), element('td'));
        return row;
    });
    frame.queues.forEach((queue, n) => {
        const cells = Array.from(rows[n].children);
        cells[0].textContent = queue.id === 0 ? 'admin' : String(queue.id);
        const figures = ['outstanding', 'fetched', 'completed'];
        figures.forEach((name, column) => {
            const value = queue[name];
            figure(cells[column + 1], `queues.${queue.id}.${name}`, value, count(value));
        });
    });
}
const entryKinds = { c: 'clean', d: 'dirty', r: 'read', p: 'program' };
function drawBuffer(frame) {
    const { cells, used, dirty } = frame.buffer;
    children(at('buffer'), cells.length, () => element('i')).forEach((cell, n) => {
        const kind = entryKinds[cells[n]] ?? '';
        if (cell.className !== kind)
            cell.className = kind;
    });
    figure(at('buffer-used'), 'buffer.used', used, count(used));
    figure(at('buffer-dirty'), 'buffer.dirty', dirty, count(dirty));
}
// Maps of the blocks: a row for each LUN, a cell for a block or several.
const pale = [
    [237, 242, 248],
    [158, 202, 225],
    [66, 146, 198],
    [8, 81, 156],
    [3, 30, 77],
];
function shade(share) {
    const place = Math.min(Math.max(share, 0), 1) * (pale.length - 1);
    const low = Math.min(Math.floor(place), pale.length - 2);
    const step = (n) => (pale[low + 1][n] - pale[low][n]) * (place - low);
    const mix = (n) => Math.round(pale[low][n] + step(n));
    return [mix(0), mix(1), mix(2)];
}
function drawMap(id, rows, most, bad) {
    const canvas = at(id);
    const width = rows[0]?.length ?? 0;
    if (width === 0)
        return;
    if (canvas.width !== width || canvas.height !== rows.length) {
        canvas.width = width;
        canvas.height = rows.length;
        canvas.style.height = `${Math.min(Math.max(rows.length * 6, 48), 260)}px`;
    }
    const context = canvas.getContext('2d');
    if (!context)
        return;
    const image = context.createImageData(width, rows.length);
    rows.forEach((row, y) => {
        row.forEach((value, x) => {
            const colour = bad[y]?.[x] ? [196, 62, 62] : shade(most > 0 ? value / most : 0);
            image.data.set([...colour, 255], (y * width + x) * 4);
        });
    });
    context.putImageData(image, 0, 0);
}
function sum(rows) {
    return rows.reduce((all, row) => row.reduce((part, value) => part + value, all), 0);
}
function drawBlocks(blocks) {
    drawMap('valid', blocks.valid, blocks.units_per_cell, blocks.bad);
    const worn = blocks.erases.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0);
    drawMap('wear', blocks.erases, worn, blocks.bad);
    figure(at('valid-sum'), 'blocks.valid', sum(blocks.valid), count(sum(blocks.valid)));
    figure(at('wear-most'), 'blocks.most_erases', worn, count(worn));
    figure(at('bad-sum'), 'blocks.bad', sum(blocks.bad), count(sum(blocks.bad)));
    const shared = blocks.blocks_per_cell;
    at('per-cell').textContent =
        shared > 1 ? `${count(shared)} blocks share a cell` : 'a cell is a block';
}
// Rates and latencies over the drive's time, made of differences between frames.
/** Points that are kept; of more, every second is left out. */
const pointsMax = 2000;
class Rates {
    constructor() {
        this.points = [];
        this.last = null;
        this.jumps = 0;
    }
    /** Takes a frame. Differences over a jump, or back, mean nothing. */
    take(frame) {
        const before = this.last;
        this.last = frame;
        const jumps = frame.position?.jumps ?? 0;
        const seconds = before ? (frame.at_us - before.at_us) / 1e6 : 0;
        if (seconds < 0 || jumps !== this.jumps) {
            this.points = this.points.filter((point) => point.at <= frame.at_us / 1e6);
            this.jumps = jumps;
            return;
        }
        if (!before || seconds === 0)
            return;
        const rate = (of) => (of(frame.totals) - of(before.totals)) / seconds;
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
        if (this.points.length > pointsMax)
            this.points = this.points.filter((_, n) => n % 2 === 1);
    }
    column(name) {
        return this.points.map((point) => point[name]);
    }
    get latest() {
        return this.points[this.points.length - 1];
    }
}
const colours = ['#2f78c4', '#d1622b', '#3f9c5a'];
function chart(id, unit, series) {
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
    const columns = ['at', ...series.map(([name]) => name)];
    return { plot: new uPlot(options, columns.map(() => []), box), columns };
}
function makeCharts() {
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
function drawCharts(charts, rates) {
    for (const { plot, columns } of charts)
        plot.setData(columns.map((name) => rates.column(name)));
}
// The slowest commands, and the life of one of them.
function drawSlowest(frame, ask) {
    const rows = children(at('slowest'), frame.slowest.length, () => {
        const row = element('tr');
        row.tabIndex = 0;
        row.append(element('td'), element('td'), element('td'), element('td'));
        const asked = () => ask(Number(row.dataset.id));
        row.addEventListener('click', asked);
        row.addEventListener('keydown', (event) => {
            if (event.key === 'Enter')
                asked();
        });
        return row;
    });
    frame.slowest.forEach((slow, n) => {
        const row = rows[n];
        row.dataset.id = String(slow.id);
        const cells = Array.from(row.children);
        figure(cells[0], `slowest.${n}.total_us`, slow.total_us, micros(slow.total_us));
        cells[1].textContent = slow.name;
        cells[2].textContent = slow.length > 0 ? `${bytes(slow.length)} at ${count(slow.offset)}` : '';
        cells[3].textContent = micros(slow.began_us);
    });
}
function drawLife(life) {
    const box = at('life');
    box.dataset.command = String(life.command);
    const what = life.length > 0 ? `, ${bytes(life.length)} at ${count(life.offset)}` : '';
    const status = life.status === 0 ? '' : `, status ${life.status.toString(16).toUpperCase()}h`;
    const head = `${life.name} on queue ${life.queue}${what}: ${micros(life.total_us)}${status}`;
    const steps = element('div', '', 'steps');
    const whole = Math.max(life.total_us, 1e-6);
    for (const step of life.steps) {
        const row = element('div', '', 'step');
        const bar = element('i');
        bar.style.left = `${(step.at_us / whole) * 100}%`;
        bar.style.width = `${Math.max((step.took_us / whole) * 100, 0.3)}%`;
        bar.className = `depth${step.depth}`;
        const track = element('span', '', 'track');
        track.append(bar);
        const text = element('span', step.what, 'what');
        text.style.paddingLeft = `${step.depth}rem`;
        row.append(element('span', micros(step.took_us), 'took'), track, text);
        row.title = `from ${micros(step.at_us)}, for ${micros(step.took_us)}`;
        steps.append(row);
    }
    const shares = element('table');
    for (const share of life.shares) {
        const row = element('tr');
        row.append(element('td', micros(share.us)), element('td', `${share.percent.toFixed(1)} %`));
        row.append(element('td', share.what));
        shares.append(row);
    }
    const parts = [element('h3', head), steps];
    if (life.left_out > 0)
        parts.push(element('p', `${count(life.left_out)} steps are left out.`));
    parts.push(element('h3', 'Where the time went'), shares);
    box.replaceChildren(...parts);
}
// The connection, what is shown when, and the controls.
/** Frames of a live drive that can be looked at again. */
const keptMax = 600;
/** Between two attempts to connect. */
const againMs = 1000;
let about = null;
let socket = null;
let charts = [];
let rates = new Rates();
/** The frame that is shown. */
let shown = null;
/** Of a live drive: the last frames, and which is looked at while the view is frozen. */
const kept = [];
let frozen = null;
let seeking = false;
/** The latencies of the last frame in which commands have ended. */
let lately = null;
function send(question) {
    if (socket?.readyState === WebSocket.OPEN)
        socket.send(JSON.stringify(question));
}
function say(text) {
    at('problem').textContent = text;
}
function tiles(frame) {
    const { totals } = frame;
    if (frame.latency.commands > 0)
        lately = frame.latency;
    const now = rates.latest;
    const show = (id, value, text) => figure(at(id), id, value ?? null, text);
    show('iops', now?.iops, count(now?.iops));
    show('read-rate', now?.read, count(now?.read));
    show('write-rate', now?.write, count(now?.write));
    show('outstanding', frame.outstanding, count(frame.outstanding));
    show('p50', lately?.p50_us, micros(lately?.p50_us));
    show('p99', lately?.p99_us, micros(lately?.p99_us));
    show('reads', totals.reads, count(totals.reads));
    show('writes', totals.writes, count(totals.writes));
    show('read-bytes', totals.read_bytes, bytes(totals.read_bytes));
    show('written-bytes', totals.written_bytes, bytes(totals.written_bytes));
    show('flash-reads', totals.flash_reads, count(totals.flash_reads));
    show('flash-programs', totals.flash_programs, count(totals.flash_programs));
    show('flash-erases', totals.flash_erases, count(totals.flash_erases));
    show('victims', totals.victims, count(totals.victims));
    show('waf', totals.waf, count(totals.waf));
    const looked = totals.buffer_hits + totals.buffer_misses;
    const share = looked > 0 ? totals.buffer_hits / looked : null;
    show('hit-share', share, share === null ? '–' : `${(share * 100).toFixed(1)} %`);
}
function draw(frame) {
    if (!about)
        return;
    shown = frame;
    drawDies(about, frame);
    drawQueues(frame);
    drawBuffer(frame);
    drawSlowest(frame, (id) => send({ ask: 'explain', id }));
    tiles(frame);
    figure(at('time'), 'at_us', frame.at_us, micros(frame.at_us));
    const { position, heard } = frame;
    if (position) {
        at('play').textContent = position.playing ? 'Pause' : 'Play';
        figure(at('events'), 'events', position.events, `${count(position.events)} events`);
        const bar = at('seek');
        bar.max = String(position.until_us);
        if (!seeking)
            bar.value = String(frame.at_us);
        const speed = at('speed');
        if (document.activeElement !== speed)
            chooseSpeed(speed, position.us_per_second);
        at('state').textContent = position.at_end ? 'at the end of the file' : '';
        say(position.problem ?? '');
    }
    if (heard !== undefined) {
        const percent = `${(heard * 100).toFixed(heard < 0.1 ? 1 : 0)} %`;
        figure(at('events'), 'heard', heard, `events heard ${percent} of the time`);
    }
    document.body.dataset.drawn = String(frame.at_us);
}
function speedName(us) {
    return `${micros(us)} a second`;
}
function chooseSpeed(speed, us) {
    if (speed.options.length === 0) {
        for (let decade = 1e-2; decade < 1e8; decade *= 10) {
            for (const step of [1, 2, 5])
                speed.add(new Option(speedName(step * decade), String(step * decade)));
        }
    }
    const options = Array.from(speed.options);
    const near = options.findIndex((option) => Math.abs(Number(option.value) / us - 1) < 1e-6);
    if (near < 0) {
        speed.add(new Option(speedName(us), String(us)));
        speed.selectedIndex = speed.options.length - 1;
    }
    else if (speed.selectedIndex !== near) {
        speed.selectedIndex = near;
    }
}
function take(frame) {
    if (frame.position?.jumps !== shown?.position?.jumps)
        lately = null;
    rates.take(frame);
    if (!about?.replays) {
        kept.push(frame);
        if (kept.length > keptMax) {
            kept.shift();
            if (frozen !== null)
                frozen = Math.max(frozen - 1, 0);
        }
        if (frozen !== null)
            return;
    }
    draw(frame);
    drawCharts(charts, rates);
}
/** Freezes the view of a live drive at one of the last frames, or goes on with the latest. */
function freeze(place) {
    frozen = place === null ? null : Math.min(Math.max(place, 0), kept.length - 1);
    document.body.classList.toggle('frozen', frozen !== null);
    at('play').textContent = frozen === null ? 'Freeze' : 'Go on';
    at('state').textContent =
        frozen === null ? 'live' : `frozen, ${kept.length - 1 - frozen} frames ago; the drive goes on`;
    const frame = kept[frozen ?? kept.length - 1];
    if (frame)
        draw(frame);
}
function meet(met) {
    const isNew = about === null;
    about = met;
    document.title = `${met.name} · Aster`;
    at('name').textContent = met.name;
    document.body.classList.toggle('replays', met.replays);
    layDies(met);
    rates = new Rates();
    lately = null;
    kept.length = 0;
    if (isNew)
        charts = makeCharts();
    if (!met.replays)
        freeze(null);
}
function hear(told) {
    if (told.about)
        meet(told.about);
    if (told.blocks)
        drawBlocks(told.blocks);
    if (told.frame)
        take(told.frame);
    if (told.explanation)
        drawLife(told.explanation.life);
    if (told.error)
        say(told.error);
}
function connect() {
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    socket = new WebSocket(`${scheme}//${location.host}/live${location.search}`);
    socket.addEventListener('open', () => {
        document.body.classList.add('connected');
        say('');
    });
    socket.addEventListener('message', (event) => hear(JSON.parse(event.data)));
    socket.addEventListener('close', () => {
        document.body.classList.remove('connected');
        say('not connected: aster has ended, or too many browsers look');
        setTimeout(connect, againMs);
    });
}
function control() {
    at('play').addEventListener('click', () => {
        if (!about || !shown)
            return;
        if (about.replays)
            send({ ask: shown.position?.playing ? 'pause' : 'play' });
        else
            freeze(frozen === null ? kept.length - 1 : null);
    });
    at('back').addEventListener('click', () => freeze((frozen ?? kept.length - 1) - 1));
    at('forward').addEventListener('click', () => freeze((frozen ?? kept.length - 1) + 1));
    at('step-event').addEventListener('click', () => send({ ask: 'step_event' }));
    at('step-command').addEventListener('click', () => send({ ask: 'step_command' }));
    const bar = at('seek');
    bar.addEventListener('pointerdown', () => (seeking = true));
    bar.addEventListener('pointerup', () => (seeking = false));
    bar.addEventListener('change', () => {
        seeking = false;
        send({ ask: 'seek', at_us: Number(bar.value) });
    });
    const speed = at('speed');
    speed.addEventListener('change', () => {
        send({ ask: 'speed', us_per_second: Number(speed.value) });
        speed.blur();
    });
}
addEventListener('error', (event) => say(event.message));
control();
connect();
