// The slowest commands, and the life of one of them.

function drawSlowest(frame: Frame, ask: (id: number) => void): void {
  const rows = children(at('slowest'), frame.slowest.length, () => {
    const row = element('tr');
    row.tabIndex = 0;
    row.append(element('td'), element('td'), element('td'), element('td'));
    const asked = () => ask(Number(row.dataset.id));
    row.addEventListener('click', asked);
    row.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') asked();
    });
    return row;
  });
  frame.slowest.forEach((slow, n) => {
    const row = rows[n];
    row.dataset.id = String(slow.id);
    const cells = Array.from(row.children) as HTMLElement[];
    figure(cells[0], `slowest.${n}.total_us`, slow.total_us, micros(slow.total_us));
    cells[1].textContent = slow.name;
    cells[2].textContent = slow.length > 0 ? `${bytes(slow.length)} at ${count(slow.offset)}` : '';
    cells[3].textContent = micros(slow.began_us);
  });
}

function drawLife(life: Life): void {
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
  const parts: HTMLElement[] = [element('h3', head), steps];
  if (life.left_out > 0) parts.push(element('p', `${count(life.left_out)} steps are left out.`));
  parts.push(element('h3', 'Where the time went'), shares);
  box.replaceChildren(...parts);
}
