// Makes the tarballs that are published: one for each native library that is here (tidegate.TARGET.node), and the package
// itself, which names those as optional dependencies. They enter only here: `npm ci` must work before anything is published.
// usage: node scripts/pack.mjs [FOLDER]      (default: build/npm)
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));
const root = path.join(here, '..');
const out = path.resolve(process.argv[2] ?? path.join(root, 'build/npm'));
const LICENSES = ['LICENSE-APACHE', 'LICENSE-MIT'];

const { scripts, devDependencies, ...manifest } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const { version, license, engines } = manifest;

/** Writes one package's folder and packs it. */
function pack(manifest, copies) {
  const folder = path.join(out, manifest.name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const [from, to] of copies) cpSync(from, path.join(folder, to), { recursive: true });
  const { status } = spawnSync('npm', ['pack', '--silent', '--pack-destination', out], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(1);
}

const licenses = LICENSES.map((name) => [path.join(root, name), name]);
const targets = readdirSync(here).flatMap((name) => name.match(/^tidegate\.(.+)\.node$/)?.[1] ?? []);
if (targets.length === 0) {
  console.error('no native library is here: cargo build --release -p tidegate-node, then node scripts/build.mjs');
  process.exit(1);
}

for (const target of targets) {
  const [os, cpu, libc] = target.split('-');
  const platform = {
    name: `tidegate-${target}`,
    version,
    description: `The native library of tidegate for ${target}`,
    license,
    engines,
    main: 'tidegate.node',
    files: ['tidegate.node', ...LICENSES],
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
  };
  pack(platform, [[path.join(here, `tidegate.${target}.node`), 'tidegate.node'], ...licenses]);
}

const optionalDependencies = Object.fromEntries(targets.map((target) => [`tidegate-${target}`, version]));
const files = [...manifest.files, 'README.md'].map((name) => [path.join(here, name), name]);
pack({ ...manifest, files: [...manifest.files, ...LICENSES], optionalDependencies }, [...files, ...licenses]);
