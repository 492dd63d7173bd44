// Channels × ways with what each die does, queues, and the data buffer.

/** The die of a row and a column: LUN indices count channels first, then ways, then LUNs. */
function dieIndex(about: About, channel: number, column: number): number {
  const way = Math.floor(column / about.luns);
  const lun = column % about.luns;
  return (lun * about.ways + way) * about.channels + channel;
}

function dieName(about: About, channel: number, column: number): string {
  const name = `channel ${channel} way ${Math.floor(column / about.luns)}`;
  return about.luns > 1 ? `${name} LUN ${column % about.luns}` : name;
}

function layDies(about: About): void {
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

function drawDies(about: About, frame: Frame): void {
  frame.channels.forEach((busy, channel) => {
    at(`channel-${channel}`).classList.toggle('busy', busy);
  });
  for (let channel = 0; channel < about.channels; channel += 1) {
    for (let column = 0; column < about.ways * about.luns; column += 1) {
      const index = dieIndex(about, channel, column);
      const die = frame.dies[index];
      if (!die) continue;
      const cell = at(`die-${index}`);
      const kind = `die ${die.work}${die.suspended ? ' suspended' : ''}`;
      if (cell.className !== kind) cell.className = kind;
      const waiting = die.waiting > 0 ? String(die.waiting) : '';
      if (cell.textContent !== waiting) cell.textContent = waiting;
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

function drawQueues(frame: Frame): void {
  const rows = children(at('queues'), frame.queues.length, () => {
    const row = element('tr');
    row.append(element('td'), element('td'), element('td'), element('td'));
    return row;
  });
  frame.queues.forEach((queue, n) => {
    const cells = Array.from(rows[n].children) as HTMLElement[];
    cells[0].textContent = queue.id === 0 ? 'admin' : String(queue.id);
    const figures = ['outstanding', 'fetched', 'completed'] as const;
    figures.forEach((name, column) => {
      const value = queue[name];
      figure(cells[column + 1], `queues.${queue.id}.${name}`, value, count(value));
    });
  });
}

const entryKinds: Record<string, string> = { c: 'clean', d: 'dirty', r: 'read', p: 'program' };

function drawBuffer(frame: Frame): void {
  const { cells, used, dirty } = frame.buffer;
  children(at('buffer'), cells.length, () => element('i')).forEach((cell, n) => {
    const kind = entryKinds[cells[n]] ?? '';
    if (cell.className !== kind) cell.className = kind;
  });
  figure(at('buffer-used'), 'buffer.used', used, count(used));
  figure(at('buffer-dirty'), 'buffer.dirty', dirty, count(dirty));
}
