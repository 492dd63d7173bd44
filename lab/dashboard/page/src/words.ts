// Numbers and elements.

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

function at<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1000) return grouped.format(value);
  return Number.isInteger(value) ? String(value) : String(+value.toPrecision(3));
}

function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${+value.toPrecision(4)} ${units[unit]}`;
}

function micros(us: number | null | undefined): string {
  if (us === null || us === undefined) return '–';
  if (us >= 1e6) return `${+(us / 1e6).toPrecision(7)} s`;
  if (us >= 1e3) return `${+(us / 1e3).toPrecision(7)} ms`;
  if (us >= 1) return `${+us.toPrecision(7)} µs`;
  return `${+(us * 1e3).toPrecision(4)} ns`;
}

function element(tag: string, text = '', kind = ''): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

/** Shows a figure, with the exact value beside the text. */
function figure(into: HTMLElement, name: string, value: number | null, text: string): void {
  into.dataset.figure = name;
  into.dataset.value = value === null ? '' : String(value);
  into.textContent = text;
}

/** Has `into` as many children as asked for, and returns them. */
function children(into: HTMLElement, wanted: number, make: () => HTMLElement): HTMLElement[] {
  while (into.children.length < wanted) into.append(make());
  while (into.children.length > wanted) into.lastElementChild?.remove();
  return Array.from(into.children) as HTMLElement[];
}
