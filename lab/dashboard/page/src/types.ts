// What the server tells: the same as in frame.rs and messages.rs.

type Work = 'idle' | 'read' | 'program' | 'erase' | 'other' | 'transfer';

interface About {
  name: string;
  replays: boolean;
  channels: number;
  ways: number;
  luns: number;
  blocks_per_lun: number;
  pages_per_block: number;
  page_bytes: number;
}

interface Die {
  work: Work;
  suspended?: Work;
  waiting: number;
  reads: number;
  programs: number;
  erases: number;
}

interface Queue {
  id: number;
  outstanding: number;
  fetched: number;
  completed: number;
}

interface Totals {
  reads: number;
  writes: number;
  read_bytes: number;
  written_bytes: number;
  flash_reads: number;
  flash_programs: number;
  flash_erases: number;
  programmed_bytes: number;
  victims: number;
  buffer_hits: number;
  buffer_misses: number;
  waf: number | null;
}

interface Latency {
  commands: number;
  p50_us: number | null;
  p99_us: number | null;
  max_us: number | null;
}

interface Slow {
  id: number;
  name: string;
  queue: number;
  offset: number;
  length: number;
  began_us: number;
  total_us: number;
}

interface Position {
  events: number;
  from_us: number;
  until_us: number;
  playing: boolean;
  at_end: boolean;
  us_per_second: number;
  problem?: string;
  jumps: number;
}

interface Frame {
  at_us: number;
  dies: Die[];
  channels: boolean[];
  queues: Queue[];
  outstanding: number;
  buffer: { cells: string; used: number; dirty: number };
  totals: Totals;
  latency: Latency;
  slowest: Slow[];
  position?: Position;
  heard?: number;
}

interface Blocks {
  blocks_per_cell: number;
  units_per_cell: number;
  valid: number[][];
  erases: number[][];
  bad: number[][];
}

interface Life {
  command: number;
  name: string;
  queue: number;
  offset: number;
  length: number;
  status: number;
  total_us: number;
  steps: { at_us: number; took_us: number; depth: number; what: string }[];
  shares: { what: string; us: number; percent: number }[];
  left_out: number;
}

interface Told {
  about?: About;
  frame?: Frame;
  blocks?: Blocks;
  explanation?: { id: number; life: Life };
  error?: string;
}

// As much of uPlot as is used here.
declare class uPlot {
  constructor(options: object, data: (number | null)[][], into: HTMLElement);
  setData(data: (number | null)[][]): void;
  setSize(size: { width: number; height: number }): void;
}
