// Builds the dashboard's script from its TypeScript: into the crate, or to the file that is named.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const into = process.argv[2] ?? join(here, '../src/page/dashboard.js');
const { files } = JSON.parse(readFileSync(join(here, 'tsconfig.json'), 'utf8'));

// Names and contents of all that decides the result.
const digest = createHash('sha256');
for (const name of ['tsconfig.json', 'package.json', ...files]) {
  digest.update(`${name}\n`).update(readFileSync(join(here, name)));
}

const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
try {
  const built = join(folder, 'dashboard.js');
  const compiler = join(here, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', here, '--outFile', built], { stdio: 'inherit' });
  const told = "// Built by lab/dashboard/page/build.mjs; don't edit.\n";
  const head = `${told}// Sources: ${digest.digest('hex')}\n`;
  writeFileSync(into, head + readFileSync(built, 'utf8'));
} finally {
  rmSync(folder, { recursive: true });
}
