// Puts the native library that cargo has built beside index.js, under the name that lib/native.js looks for.
// usage: node scripts/build.mjs      (after: cargo build --release -p tidegate-node)
import { copyFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { target } = createRequire(import.meta.url)('../lib/target.js');
const root = new URL('../../', import.meta.url);
const targetFolder = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL('target', root));
const library =
  { darwin: 'libtidegate_node.dylib', win32: 'tidegate_node.dll' }[process.platform] ?? 'libtidegate_node.so';

const to = fileURLToPath(new URL(`../tidegate.${target()}.node`, import.meta.url));
// Renamed into place: a process that has the old one loaded keeps it.
copyFileSync(`${targetFolder}/release/${library}`, `${to}.new`);
renameSync(`${to}.new`, to);
console.log(`built ${to}`);
