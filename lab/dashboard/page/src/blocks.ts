// Maps of the blocks: a row for each LUN, a cell for a block or several.

type Colour = [number, number, number];

const pale: Colour[] = [
  [237, 242, 248],
  [158, 202, 225],
  [66, 146, 198],
  [8, 81, 156],
  [3, 30, 77],
];

function shade(share: number): Colour {
  const place = Math.min(Math.max(share, 0), 1) * (pale.length - 1);
  const low = Math.min(Math.floor(place), pale.length - 2);
  const step = (n: number) => (pale[low + 1][n] - pale[low][n]) * (place - low);
  const mix = (n: number) => Math.round(pale[low][n] + step(n));
  return [mix(0), mix(1), mix(2)];
}

function drawMap(id: string, rows: number[][], most: number, bad: number[][]): void {
  const canvas = at<HTMLCanvasElement>(id);
  const width = rows[0]?.length ?? 0;
  if (width === 0) return;
  if (canvas.width !== width || canvas.height !== rows.length) {
    canvas.width = width;
    canvas.height = rows.length;
    canvas.style.height = `${Math.min(Math.max(rows.length * 6, 48), 260)}px`;
  }
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(width, rows.length);
  rows.forEach((row, y) => {
    row.forEach((value, x) => {
      const colour: Colour = bad[y]?.[x] ? [196, 62, 62] : shade(most > 0 ? value / most : 0);
      image.data.set([...colour, 255], (y * width + x) * 4);
    });
  });
  context.putImageData(image, 0, 0);
}

function sum(rows: number[][]): number {
  return rows.reduce((all, row) => row.reduce((part, value) => part + value, all), 0);
}

function drawBlocks(blocks: Blocks): void {
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
