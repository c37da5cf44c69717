'use strict';

const { existsSync } = require('node:fs');
const path = require('node:path');
const { TidegateError } = require('./errors.js');
const { target } = require('./target.js');
const { version } = require('../package.json');

/** The one that `NAPI_RS_NATIVE_LIBRARY_PATH` names, else the one built in this folder, else the platform's package. */
function load() {
  const override = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (override) return loadFrom(path.resolve(override), 'NAPI_RS_NATIVE_LIBRARY_PATH names another file');

  const name = `tidegate-${target}`;
  const built = path.join(__dirname, '..', `tidegate.${target}.node`);
  if (existsSync(built)) return loadFrom(built, 'it is built again (node scripts/build.mjs)');
  // A clone of the project: there is no package of the library to be had for it.
  if (existsSync(path.join(__dirname, '..', 'Cargo.toml')))
    return loadFrom(built, 'it is built: make build LANGS=node');
  return loadFrom(name, `its package is there: npm install ${name}@${version} (and not with --omit=optional)`);
}

function loadFrom(place, remedy) {
  let problem;
  try {
    const native = require(place);
    if (native.version() === version) return native;
    problem = new Error(`it is of version ${native.version()}, and the package of ${version}`);
  } catch (error) {
    problem = error;
  }
  const [reason] = String(problem.message).split('\n');
  throw new TidegateError(
    `The native library ${place} can't be used: ${reason}. It will be once ${remedy}.`,
    'ERR_TIDEGATE_NATIVE',
    { cause: problem },
  );
}

module.exports = load();
