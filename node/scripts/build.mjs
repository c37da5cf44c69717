// Puts the native library that cargo has built beside index.js, under the name that lib/native.js looks for.
// usage: node scripts/build.mjs      (after: cargo build --release -p tidegate-node)
import { copyFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const { target } = createRequire(import.meta.url)('../lib/target.js');
const here = fileURLToPath(new URL('..', import.meta.url));
const targetFolder = process.env.CARGO_TARGET_DIR ?? path.join(here, '../target');
const names = { darwin: 'libtidegate_node.dylib', win32: 'tidegate_node.dll' };
const library = names[process.platform] ?? 'libtidegate_node.so';

// Renamed into place: a process that has the old one loaded keeps it.
const to = path.join(here, `tidegate.${target}.node`);
copyFileSync(path.join(targetFolder, 'release', library), `${to}.new`);
renameSync(`${to}.new`, to);
console.log(`built ${path.relative(process.cwd(), to)}`);
