// The connection, what is shown when, and the controls.

/** Frames of a live drive that can be looked at again. */
const keptMax = 600;
/** Between two attempts to connect. */
const againMs = 1000;

let about: About | null = null;
let socket: WebSocket | null = null;
let charts: Chart[] = [];
let rates = new Rates();
/** The frame that is shown. */
let shown: Frame | null = null;
/** Of a live drive: the last frames, and which is looked at while the view is frozen. */
const kept: Frame[] = [];
let frozen: number | null = null;
let seeking = false;
/** The latencies of the last frame in which commands have ended. */
let lately: Latency | null = null;

function send(question: object): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(question));
}

function say(text: string): void {
  at('problem').textContent = text;
}

function tiles(frame: Frame): void {
  const { totals } = frame;
  if (frame.latency.commands > 0) lately = frame.latency;
  const now = rates.latest;
  const show = (id: string, value: number | null | undefined, text: string) =>
    figure(at(id), id, value ?? null, text);
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

function draw(frame: Frame): void {
  if (!about) return;
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
    const bar = at<HTMLInputElement>('seek');
    bar.max = String(position.until_us);
    if (!seeking) bar.value = String(frame.at_us);
    const speed = at<HTMLSelectElement>('speed');
    if (document.activeElement !== speed) chooseSpeed(speed, position.us_per_second);
    at('state').textContent = position.at_end ? 'at the end of the file' : '';
    say(position.problem ?? '');
  }
  if (heard !== undefined) {
    const percent = `${(heard * 100).toFixed(heard < 0.1 ? 1 : 0)} %`;
    figure(at('events'), 'heard', heard, `events heard ${percent} of the time`);
  }
  document.body.dataset.drawn = String(frame.at_us);
}

function speedName(us: number): string {
  return `${micros(us)} a second`;
}

function chooseSpeed(speed: HTMLSelectElement, us: number): void {
  if (speed.options.length === 0) {
    for (let decade = 1e-2; decade < 1e8; decade *= 10) {
      for (const step of [1, 2, 5]) speed.add(new Option(speedName(step * decade), String(step * decade)));
    }
  }
  const options = Array.from(speed.options);
  const near = options.findIndex((option) => Math.abs(Number(option.value) / us - 1) < 1e-6);
  if (near < 0) {
    speed.add(new Option(speedName(us), String(us)));
    speed.selectedIndex = speed.options.length - 1;
  } else if (speed.selectedIndex !== near) {
    speed.selectedIndex = near;
  }
}

function take(frame: Frame): void {
  if (frame.position?.jumps !== shown?.position?.jumps) lately = null;
  rates.take(frame);
  if (!about?.replays) {
    kept.push(frame);
    if (kept.length > keptMax) {
      kept.shift();
      if (frozen !== null) frozen = Math.max(frozen - 1, 0);
    }
    if (frozen !== null) return;
  }
  draw(frame);
  drawCharts(charts, rates);
}

/** Freezes the view of a live drive at one of the last frames, or goes on with the latest. */
function freeze(place: number | null): void {
  frozen = place === null ? null : Math.min(Math.max(place, 0), kept.length - 1);
  document.body.classList.toggle('frozen', frozen !== null);
  at('play').textContent = frozen === null ? 'Freeze' : 'Go on';
  at('state').textContent =
    frozen === null ? 'live' : `frozen, ${kept.length - 1 - frozen} frames ago; the drive goes on`;
  const frame = kept[frozen ?? kept.length - 1];
  if (frame) draw(frame);
}

function meet(met: About): void {
  const isNew = about === null;
  about = met;
  document.title = `${met.name} · Aster`;
  at('name').textContent = met.name;
  document.body.classList.toggle('replays', met.replays);
  layDies(met);
  rates = new Rates();
  lately = null;
  kept.length = 0;
  if (isNew) charts = makeCharts();
  if (!met.replays) freeze(null);
}

function hear(told: Told): void {
  if (told.about) meet(told.about);
  if (told.blocks) drawBlocks(told.blocks);
  if (told.frame) take(told.frame);
  if (told.explanation) drawLife(told.explanation.life);
  if (told.error) say(told.error);
}

function connect(): void {
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(`${scheme}//${location.host}/live${location.search}`);
  socket.addEventListener('open', () => {
    document.body.classList.add('connected');
    say('');
  });
  socket.addEventListener('message', (event) => hear(JSON.parse(event.data as string) as Told));
  socket.addEventListener('close', () => {
    document.body.classList.remove('connected');
    say('not connected: aster has ended, or too many browsers look');
    setTimeout(connect, againMs);
  });
}

function control(): void {
  at('play').addEventListener('click', () => {
    if (!about || !shown) return;
    if (about.replays) send({ ask: shown.position?.playing ? 'pause' : 'play' });
    else freeze(frozen === null ? kept.length - 1 : null);
  });
  at('back').addEventListener('click', () => freeze((frozen ?? kept.length - 1) - 1));
  at('forward').addEventListener('click', () => freeze((frozen ?? kept.length - 1) + 1));
  at('step-event').addEventListener('click', () => send({ ask: 'step_event' }));
  at('step-command').addEventListener('click', () => send({ ask: 'step_command' }));
  const bar = at<HTMLInputElement>('seek');
  bar.addEventListener('pointerdown', () => (seeking = true));
  bar.addEventListener('pointerup', () => (seeking = false));
  bar.addEventListener('change', () => {
    seeking = false;
    send({ ask: 'seek', at_us: Number(bar.value) });
  });
  const speed = at<HTMLSelectElement>('speed');
  speed.addEventListener('change', () => {
    send({ ask: 'speed', us_per_second: Number(speed.value) });
    speed.blur();
  });
}

addEventListener('error', (event) => say(event.message));
control();
connect();
